#include "tests/support/small_programs.h"

namespace temper::lower {
namespace {

using te::Combiner;
using tir::Expr;

std::vector<te::Axis> Axes(te::Program& p, std::initializer_list<int64_t> extents) {
  std::vector<te::Axis> axes;
  for (int64_t e : extents) axes.push_back({p.NewVar("a"), e});
  return axes;
}

Expr Read(const te::Program& p, int tensor, std::vector<Expr> index) {
  return p.Read(tensor, index);
}

int Conv(te::Program& p, int x, int w, int64_t h, int64_t ci, int64_t co, int64_t shift) {
  te::Stage s;
  s.name = "conv";
  s.spatial = Axes(p, {h, h, co});
  s.reduce = Axes(p, {3, 3, ci});
  s.combiner = Combiner::kSum;
  Expr y = s.spatial[0].var, z = s.spatial[1].var, o = s.spatial[2].var;
  Expr ky = s.reduce[0].var, kz = s.reduce[1].var, c = s.reduce[2].var;
  Expr minus = tir::Index(-shift);
  s.body = Read(p, x, {y + ky + minus, z + kz + minus, c}) * Read(p, w, {o, c, ky, kz});
  return p.AddStage(std::move(s));
}

}  // namespace

te::Program MatmulBiasRelu(int64_t m, int64_t n, int64_t k) {
  te::Program p;
  int x = p.AddInput("x", DType::kFloat32, {m, k});
  int w = p.AddInput("w", DType::kFloat32, {k, n}, true);
  int b = p.AddInput("b", DType::kFloat32, {n}, true);
  te::Stage s;
  s.name = "matmul";
  s.spatial = Axes(p, {m, n});
  s.reduce = Axes(p, {k});
  s.combiner = Combiner::kSum;
  s.body = Read(p, x, {s.spatial[0].var, s.reduce[0].var}) *
           Read(p, w, {s.reduce[0].var, s.spatial[1].var});
  int acc = p.AddStage(std::move(s));
  te::Stage r;
  r.name = "relu";
  r.spatial = Axes(p, {m, n});
  Expr i = r.spatial[0].var, j = r.spatial[1].var;
  r.body = tir::Max(Read(p, acc, {i, j}) + Read(p, b, {j}), tir::FloatImm(DType::kFloat32, 0));
  p.outputs = {p.AddStage(std::move(r))};
  return p;
}

te::Program ConvWithHalo(int64_t h, int64_t ci, int64_t co) {
  te::Program p;
  int x = p.AddInput("x", DType::kFloat32, {h, h, ci});
  p.tensors[x].halo_before = p.tensors[x].halo_after = {1, 1, 0};
  int w = p.AddInput("w", DType::kFloat32, {co, ci, 3, 3}, true);
  int acc = Conv(p, x, w, h, ci, co, 1);
  te::Stage r;
  r.name = "relu";
  r.spatial = Axes(p, {h, h, co});
  r.body = tir::Max(Read(p, acc, {r.spatial[0].var, r.spatial[1].var, r.spatial[2].var}),
                    tir::FloatImm(DType::kFloat32, 0));
  int out = p.AddStage(std::move(r));
  p.tensors[out].halo_before = p.tensors[out].halo_after = {1, 1, 0};
  p.outputs = {out};
  return p;
}

te::Program ConvWithPadStage(int64_t h, int64_t ci, int64_t co) {
  te::Program p;
  int x = p.AddInput("x", DType::kFloat32, {h, h, ci});
  int w = p.AddInput("w", DType::kFloat32, {co, ci, 3, 3}, true);
  te::Stage s;
  s.name = "pad";
  s.spatial = Axes(p, {h + 2, h + 2, ci});
  Expr y = s.spatial[0].var, z = s.spatial[1].var, c = s.spatial[2].var;
  Expr one = tir::Index(1), end = tir::Index(h + 1);
  Expr inside = tir::And(tir::And(tir::Le(one, y), tir::Lt(y, end)),
                         tir::And(tir::Le(one, z), tir::Lt(z, end)));
  s.body =
      tir::Select(inside, Read(p, x, {y - one, z - one, c}), tir::FloatImm(DType::kFloat32, 0));
  int padded = p.AddStage(std::move(s));
  p.outputs = {Conv(p, padded, w, h, ci, co, 0)};
  return p;
}

te::Program ConvBatch(int64_t n, int64_t h, int64_t w, int64_t ci, int64_t co, int64_t halo) {
  te::Program p;
  int64_t grow = 2 - 2 * halo;  // without a halo the image itself is larger
  int x = p.AddInput("x", DType::kFloat32, {n, h + grow, w + grow, ci});
  if (halo > 0) p.tensors[x].halo_before = p.tensors[x].halo_after = {0, halo, halo, 0};
  int k = p.AddInput("k", DType::kFloat32, {co, ci, 3, 3}, true);
  te::Stage s;
  s.name = "conv";
  s.spatial = Axes(p, {n, h, w, co});
  s.reduce = Axes(p, {3, 3, ci});
  s.combiner = Combiner::kSum;
  Expr y = s.spatial[1].var, z = s.spatial[2].var, o = s.spatial[3].var;
  Expr ky = s.reduce[0].var, kz = s.reduce[1].var, c = s.reduce[2].var;
  Expr shift = tir::Index(-halo);
  s.body = Read(p, x, {s.spatial[0].var, y + ky + shift, z + kz + shift, c}) *
           Read(p, k, {o, c, ky, kz});
  int acc = p.AddStage(std::move(s));
  te::Stage r;
  r.name = "relu";
  r.spatial = Axes(p, {n, h, w, co});
  r.body = tir::Max(
      Read(p, acc, {r.spatial[0].var, r.spatial[1].var, r.spatial[2].var, r.spatial[3].var}),
      tir::FloatImm(DType::kFloat32, 0));
  p.outputs = {p.AddStage(std::move(r))};
  return p;
}

te::Program Softmax(int64_t rows, int64_t columns) {
  te::Program p;
  int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  auto reduce = [&](int source, Combiner combiner, const char* name) {
    te::Stage s;
    s.name = name;
    s.spatial = Axes(p, {rows});
    s.reduce = Axes(p, {columns});
    s.combiner = combiner;
    s.body = Read(p, source, {s.spatial[0].var, s.reduce[0].var});
    return p.AddStage(std::move(s));
  };
  int max = reduce(x, Combiner::kMax, "max");
  te::Stage e;
  e.name = "exp";
  e.spatial = Axes(p, {rows, columns});
  e.body = tir::Call(tir::Intrinsic::kExp, {Read(p, x, {e.spatial[0].var, e.spatial[1].var}) -
                                            Read(p, max, {e.spatial[0].var})});
  int exps = p.AddStage(std::move(e));
  int sum = reduce(exps, Combiner::kSum, "sum");
  te::Stage d;
  d.name = "softmax";
  d.spatial = Axes(p, {rows, columns});
  d.body = tir::Div(Read(p, exps, {d.spatial[0].var, d.spatial[1].var}),
                    Read(p, sum, {d.spatial[0].var}));
  p.outputs = {p.AddStage(std::move(d))};
  return p;
}

}  // namespace temper::lower
