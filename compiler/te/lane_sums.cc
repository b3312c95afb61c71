#include "compiler/te/lane_sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/rewrite.h"

namespace temper::te {
namespace {

using tir::Expr;
using tir::ExprKind;

constexpr int64_t kMostResults = 64;
constexpr int64_t kLeastProducts = 64;  // of one result

struct Found {
  size_t stage = 0;
  int64_t lanes = 0;
};

bool IsVar(const Expr& e, const Axis& axis) {
  return e->kind() == ExprKind::kVar && e->var_id() == axis.var->var_id();
}

// Whether one index is the axis alone, and no other has it.
bool IsIndexedBy(const Expr& load, const Axis& axis) {
  const auto indices = load->indices();
  const auto users =
      std::count_if(indices.begin(), indices.end(), [&](const Expr& i) { return Uses(i, axis); });
  return users == 1 &&
         std::any_of(indices.begin(), indices.end(), [&](const Expr& i) { return IsVar(i, axis); });
}

int64_t LanesOf(const Program& p, const Stage& s) {
  if (s.combiner != Combiner::kSum || s.reduce.size() != 1 || s.spatial.size() + 1 > kMaxRank ||
      s.body->kind() != ExprKind::kMul || s.body->type().dtype != DType::kFloat32) {
    return 0;
  }
  const Axis& k = s.reduce[0];
  int64_t results = 1;
  for (const Axis& a : s.spatial) results *= a.extent;
  if (results > kMostResults || k.extent < kLeastProducts) return 0;
  for (int side : {0, 1}) {
    const Expr& x = s.body->operand(side);
    const Expr& w = s.body->operand(1 - side);
    if (x->kind() != ExprKind::kLoad || w->kind() != ExprKind::kLoad) return 0;
    if (p.tensors[x->buffer()].constant || !p.tensors[w->buffer()].constant) continue;
    if (!IsIndexedBy(x, k) || !IsVar(x->indices().back(), k) || !IsIndexedBy(w, k)) continue;
    for (int64_t lanes : {16, 8, 4}) {
      if (k.extent % lanes == 0) return lanes;
    }
  }
  return 0;
}

std::optional<Found> Find(const Program& p) {
  if (p.stages.size() + 1 > kMaxStages || p.tensors.size() + 1 > kMaxTensors) return {};
  for (size_t s = 0; s < p.stages.size(); ++s) {
    if (const int64_t lanes = LanesOf(p, p.stages[s]); lanes > 0) return Found{s, lanes};
  }
  return {};
}

}  // namespace

bool HasLaneSums(const Program& program) { return Find(program).has_value(); }

Result<Program> MakeLaneSums(const Program& program) {
  const auto found = Find(program);
  if (!found) return FailedPrecondition("the workload has no long sum of few results");
  Program p = program;
  const Stage original = p.stages[found->stage];
  const Axis& axis = original.reduce[0];

  Stage parts = original;
  parts.name += ".lanes";
  const Expr lane = p.NewVar("l");
  parts.spatial.push_back({lane, found->lanes});
  parts.reduce[0] = {p.NewVar("q"), axis.extent / found->lanes};
  std::vector<Expr> map(p.next_var);
  map[axis.var->var_id()] = parts.reduce[0].var * tir::Index(found->lanes) + lane;
  parts.body = tir::Substitute(original.body, map);
  CombineParts(p, found->stage, std::move(parts));
  return p;
}

}  // namespace temper::te
