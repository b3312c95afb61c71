// Operators that pick elements by position: Trilu, OneHot, GatherElements, GatherND and
// ReverseSequence. Nothing outside an operand is read: an index out of range reads the nearest
// element.
#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Expr;

// The index `pick` of a dimension of `size` elements, counted from the end if it is negative.
Expr Wrapped(Expr pick, int64_t size) {
  if (pick->type().dtype != DType::kInt64) pick = tir::Cast(DType::kInt64, pick);
  pick = tir::Select(tir::Lt(pick, Expr(0)), pick + Expr(size), pick);
  return tir::Min(tir::Max(pick, Expr(0)), Expr(size - 1));
}

}  // namespace

Status BuildTrilu(Emitter& e) {
  const int x = e.Input(0);
  const DType type = e.dtype(x);
  const bool upper = e.node().Int("upper", 1) != 0;
  e.DefinePoints(0, [&](const Indices& p) {
    const size_t rank = p.size();
    Expr k(0);
    if (e.HasInput(1)) {
      k = e.Read(e.Input(1), Indices(e.shape(e.Input(1)).size(), Expr(0)));
      if (k->type().dtype != DType::kInt64) k = tir::Cast(DType::kInt64, k);
    }
    const Expr diagonal = p[rank - 2] + k;
    const Expr keep = upper ? tir::Le(diagonal, p[rank - 1]) : tir::Le(p[rank - 1], diagonal);
    return tir::Select(keep, e.Read(x, p), tir::Number(type, 0));
  });
  return OkStatus();
}

Status BuildOneHot(Emitter& e) {
  const int at = e.Input(0), values = e.Input(2);
  const graph::Shape out = e.shape(e.Output(0));
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", -1), out.size()));
  e.DefinePoints(0, [&](const Indices& p) {
    Indices rest = p;
    rest.erase(rest.begin() + axis);
    // An index in [-depth, depth - 1] is on; any other one nowhere.
    Expr pick = e.Read(at, rest);
    if (pick->type().dtype != DType::kInt64) pick = tir::Cast(DType::kInt64, pick);
    pick = tir::Select(tir::Lt(pick, Expr(0)), pick + Expr(out[axis]), pick);
    return e.Read(values, Indices{tir::Select(tir::Eq(pick, p[axis]), Expr(1), Expr(0))});
  });
  return OkStatus();
}

Status BuildGatherElements(Emitter& e) {
  const int x = e.Input(0), at = e.Input(1);
  const graph::Shape in = e.shape(x);
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", 0), in.size()));
  if (in[axis] < 1) return e.Refuse("its operand has no elements");
  e.DefinePoints(0, [&](const Indices& p) {
    Indices indices = p;
    indices[axis] = Wrapped(e.Read(at, p), in[axis]);
    return e.Read(x, indices);
  });
  return OkStatus();
}

Status BuildGatherNd(Emitter& e) {
  const int x = e.Input(0), at = e.Input(1);
  const graph::Shape in = e.shape(x), picks = e.shape(at);
  const auto batch = static_cast<size_t>(e.node().Int("batch_dims", 0));
  const auto depth = static_cast<size_t>(picks.back());
  for (int64_t dim : in) {
    if (dim < 1) return e.Refuse("its operand has no elements");
  }
  e.DefinePoints(0, [&](const Indices& p) {
    const auto outer = static_cast<std::ptrdiff_t>(picks.size() - 1);
    Indices indices(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(batch));
    for (size_t d = 0; d < depth; ++d) {
      Indices which(p.begin(), p.begin() + outer);
      which.push_back(Expr(static_cast<int64_t>(d)));
      indices.push_back(Wrapped(e.Read(at, which), in[batch + d]));
    }
    indices.insert(indices.end(), p.begin() + outer, p.end());
    return e.Read(x, indices);
  });
  return OkStatus();
}

Status BuildReverseSequence(Emitter& e) {
  const int x = e.Input(0), lengths = e.Input(1);
  const auto batch = static_cast<size_t>(e.node().Int("batch_axis", 1));
  const auto time = static_cast<size_t>(e.node().Int("time_axis", 0));
  const graph::Shape in = e.shape(x);
  e.DefinePoints(0, [&](const Indices& p) {
    Expr length = e.Read(lengths, Indices{p[batch]});
    if (length->type().dtype != DType::kInt64) length = tir::Cast(DType::kInt64, length);
    length = tir::Min(length, Expr(in[time]));
    Indices indices = p;
    const Expr back = tir::Max(length - Expr(1) - p[time], Expr(0));
    indices[time] = tir::Select(tir::Lt(p[time], length), back, p[time]);
    return e.Read(x, indices);
  });
  return OkStatus();
}

}  // namespace temper::ops
