#include "compiler/te/gathered.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/rewrite.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

constexpr int64_t kLongestRow = 16;    // longer ones are cut with little waste as they are
constexpr int64_t kMostPixels = 1024;  // the copy stays in a cache
constexpr int64_t kMostElements = int64_t{1} << 21;
constexpr int64_t kLeastResults = 64;   // of a pixel
constexpr int64_t kLeastChannels = 64;  // that follow one another in the image

struct Found {
  size_t stage = 0;
  int image = 0;     // which factor of the body
  size_t inner = 0;  // the reduction axis along which the image is contiguous
};

// Axes of extent 1 move nothing.
bool UsesAny(const Expr& e, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& a) { return a.extent > 1 && Uses(e, a); });
}

std::optional<Found> MatchStage(const Program& p, size_t number) {
  const Stage& s = p.stages[number];
  if (s.combiner != Combiner::kSum || s.spatial.size() < 3 || s.reduce.size() < 2) return {};
  if (s.body->kind() != ExprKind::kMul || s.body->type().dtype != DType::kFloat32) return {};
  const std::vector<Axis> pixel_axes(s.spatial.begin(), s.spatial.end() - 1);
  const Axis& results = s.spatial.back();
  int64_t pixels = 1, elements = 1;
  for (const Axis& a : pixel_axes) pixels *= a.extent;
  for (const Axis& a : s.reduce) elements *= a.extent;
  if (pixels < 2 || pixels > kMostPixels || results.extent < kLeastResults ||
      pixel_axes.back().extent > kLongestRow || elements > kMostElements / pixels) {
    return {};
  }
  for (int side : {0, 1}) {
    const Expr& x = s.body->operand(side);
    const Expr& k = s.body->operand(1 - side);
    if (x->kind() != ExprKind::kLoad || k->kind() != ExprKind::kLoad) return {};
    if (!p.tensors[k->buffer()].constant || UsesAny(k, pixel_axes) || Uses(x, results)) continue;
    const auto indices = x->indices();
    const bool window = std::any_of(indices.begin(), indices.end(), [&](const Expr& i) {
      return UsesAny(i, pixel_axes) && UsesAny(i, s.reduce);
    });
    if (!window || indices.empty() || indices.back()->kind() != ExprKind::kVar) continue;
    for (size_t r = 0; r < s.reduce.size(); ++r) {
      if (indices.back()->var_id() == s.reduce[r].var->var_id() &&
          s.reduce[r].extent >= kLeastChannels) {
        return Found{number, side, r};
      }
    }
  }
  return {};
}

std::optional<Found> Find(const Program& p) {
  if (p.stages.size() + 2 > kMaxStages || p.tensors.size() + 2 > kMaxTensors) return {};
  for (size_t s = 0; s < p.stages.size(); ++s) {
    if (auto found = MatchStage(p, s)) return found;
  }
  return {};
}

}  // namespace

bool HasGathered(const Program& program) { return Find(program).has_value(); }

Result<Program> MakeGathered(const Program& program) {
  const auto found = Find(program);
  if (!found) return FailedPrecondition("the workload has no convolution over short rows");
  Program p = program;
  const Stage conv = p.stages[found->stage];
  const size_t pixel_axes = conv.spatial.size() - 1;
  int64_t pixels = 1;
  for (size_t a = 0; a < pixel_axes; ++a) pixels *= conv.spatial[a].extent;

  Stage gather;
  gather.name = conv.name + ".pixels";
  {
    const Expr pixel = p.NewVar("p");
    gather.spatial.push_back({pixel, pixels});
    std::vector<Expr> map(p.next_var);
    int64_t behind = pixels;  // pixels of one step of the axis, and before that of the one around
    for (size_t a = 0; a < pixel_axes; ++a) {
      const Axis& axis = conv.spatial[a];
      const bool outermost = behind == pixels;
      behind /= axis.extent;
      Expr at = behind == 1 ? pixel : tir::FloorDiv(pixel, tir::Index(behind));
      if (axis.extent == 1) {
        at = tir::Index(0);
      } else if (!outermost) {
        at = tir::FloorMod(at, tir::Index(axis.extent));
      }
      map[axis.var->var_id()] = at;
    }
    auto add = [&](const Axis& axis) {
      gather.spatial.push_back({p.NewVar("g"), axis.extent});
      map[axis.var->var_id()] = gather.spatial.back().var;
    };
    for (size_t r = 0; r < conv.reduce.size(); ++r) {
      if (r != found->inner) add(conv.reduce[r]);
    }
    add(conv.reduce[found->inner]);
    gather.body = tir::Substitute(conv.body->operand(found->image), map);
  }
  const int g = InsertStage(p, found->stage, std::move(gather));

  Stage product;
  product.name = conv.name + ".product";
  product.combiner = Combiner::kSum;
  {
    product.spatial = {{p.NewVar("p"), pixels}, {p.NewVar("o"), conv.spatial.back().extent}};
    std::vector<Expr> map(p.next_var + conv.reduce.size());
    map[conv.spatial.back().var->var_id()] = product.spatial[1].var;
    for (const Axis& axis : conv.reduce) {
      product.reduce.push_back({p.NewVar("r"), axis.extent});
      map[axis.var->var_id()] = product.reduce.back().var;
    }
    std::vector<Expr> index = {product.spatial[0].var};
    for (size_t r = 0; r < conv.reduce.size(); ++r) {
      if (r != found->inner) index.push_back(product.reduce[r].var);
    }
    index.push_back(product.reduce[found->inner].var);
    const Expr image = p.Read(g, index);
    const Expr kernel = tir::Substitute(conv.body->operand(1 - found->image), map);
    product.body = found->image == 0 ? image * kernel : kernel * image;
  }
  const int d = InsertStage(p, found->stage + 1, std::move(product));

  Stage& out = p.stages[found->stage + 2];  // the same axes and tensor
  out.reduce.clear();
  out.combiner = Combiner::kNone;
  Expr pixel;
  for (size_t a = 0; a < pixel_axes; ++a) {
    const Axis& axis = out.spatial[a];
    if (axis.extent == 1) continue;
    pixel = pixel ? pixel * tir::Index(axis.extent) + axis.var : axis.var;
  }
  const std::vector<Expr> index = {pixel, out.spatial.back().var};
  out.body = p.Read(d, index);
  return p;
}

}  // namespace temper::te
