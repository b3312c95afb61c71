// Transpose, Expand, Tile, Gather, DepthToSpace, SpaceToDepth.
#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

Status BuildTranspose(Emitter& e) {
  const int x = e.Input(0);
  const size_t rank = e.shape(x).size();
  std::vector<int64_t> perm = e.node().Ints("perm");
  if (perm.empty()) {
    for (size_t d = rank; d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  }
  std::vector<bool> seen(rank, false);
  if (perm.size() != rank) return e.Refuse("a perm of another rank than its operand");
  for (int64_t d : perm) {
    if (d < 0 || d >= static_cast<int64_t>(rank) || seen[d]) {
      return InvalidArgument(e.node().Describe() + ": perm is not a permutation");
    }
    seen[d] = true;
  }
  e.DefinePoints(0, [&](const Indices& p) {
    Indices indices(rank);
    for (size_t d = 0; d < rank; ++d) indices[perm[d]] = p[d];
    return e.Read(x, indices);
  });
  return OkStatus();
}

Status BuildExpand(Emitter& e) {
  e.DefinePoints(0, [&](const Indices& p) { return e.ReadBroadcast(e.Input(0), p); });
  return OkStatus();
}

Status BuildTile(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x), out = e.shape(e.Output(0));
  e.DefinePoints(0, [&](const Indices& p) {
    Indices indices;
    for (size_t d = 0; d < in.size(); ++d) {
      indices.push_back(in[d] == 1        ? Expr(0)
                        : in[d] == out[d] ? p[d]
                                          : tir::FloorMod(p[d], Expr(in[d])));
    }
    return e.Read(x, indices);
  });
  return OkStatus();
}

// Indices that are out of range read the nearest element: nothing outside is ever read.
Status BuildGather(Emitter& e) {
  const int x = e.Input(0), at = e.Input(1);
  const graph::Shape in = e.shape(x), picks = e.shape(at);
  if (in.empty()) return e.Refuse("its operand is a scalar");
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", 0), in.size()));
  if (in[axis] < 1) return e.Refuse("its operand has no elements");
  e.DefinePoints(0, [&](const Indices& p) {
    const Indices inner(p.begin() + axis, p.begin() + axis + picks.size());
    Expr pick = e.Read(at, inner);
    if (pick->type().dtype != DType::kInt64) pick = tir::Cast(DType::kInt64, pick);
    if (pick->kind() == tir::ExprKind::kIntImm) {
      const int64_t v = pick->int_value();
      pick = Expr(v < 0 ? v + in[axis] : v);
    } else {
      pick = tir::Select(tir::Lt(pick, Expr(0)), pick + Expr(in[axis]), pick);
    }
    pick = tir::Min(tir::Max(pick, Expr(0)), Expr(in[axis] - 1));
    Indices indices(p.begin(), p.begin() + axis);
    indices.push_back(pick);
    indices.insert(indices.end(), p.begin() + axis + picks.size(), p.end());
    return e.Read(x, indices);
  });
  return OkStatus();
}

Status BuildDepthToSpace(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x), out = e.shape(e.Output(0));
  const int64_t block = e.node().Int("blocksize", 0);
  if (in.size() != 4 || block < 1 || out[1] * block * block != in[1]) {
    return e.Refuse("this shape or blocksize");
  }
  const bool crd = e.node().String("mode", "DCR") == "CRD";
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr b(block), c(out[1]);
    const Expr within = tir::FloorMod(p[2], b) * b + tir::FloorMod(p[3], b);
    const Expr channel = crd ? p[1] * Expr(block * block) + within : within * c + p[1];
    return e.Read(x, Indices{p[0], channel, tir::FloorDiv(p[2], b), tir::FloorDiv(p[3], b)});
  });
  return OkStatus();
}

Status BuildSpaceToDepth(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x), out = e.shape(e.Output(0));
  const int64_t block = e.node().Int("blocksize", 0);
  if (in.size() != 4 || block < 1 || in[1] * block * block != out[1]) {
    return e.Refuse("this shape or blocksize");
  }
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr b(block), c(in[1]);
    const Expr within = tir::FloorDiv(p[1], c);
    return e.Read(x, Indices{p[0], tir::FloorMod(p[1], c), p[2] * b + tir::FloorDiv(within, b),
                             p[3] * b + tir::FloorMod(within, b)});
  });
  return OkStatus();
}

}  // namespace temper::ops
