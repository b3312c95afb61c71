// Softmax and LogSoftmax over one axis, with the largest element taken out first.
#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Call;
using tir::Expr;
using tir::Intrinsic;

Status BuildSoftmax(Emitter& e) {
  const int x = e.Input(0);
  const DType type = e.dtype(x), wide = AccumulatorType(type);
  const graph::Shape shape = e.shape(x);
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  if (shape.empty()) return e.Refuse("its operand is a scalar");
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", -1), shape.size()));
  const bool log = e.node().op == "LogSoftmax";
  graph::Shape rows = shape;
  rows.erase(rows.begin() + axis);
  auto with = [&](Indices row, const Expr& k) {
    row.insert(row.begin() + axis, k);
    return row;
  };
  auto row_of = [&](Indices point) {
    point.erase(point.begin() + axis);
    return point;
  };
  // NaN need not pass through the maximum: the row's exponentials have it, and so their sum.
  const int top = e.AddReduction(rows, {shape[axis]}, te::Combiner::kMax, ".max",
                                 [&](const Indices& p, const Indices& r) {
                                   const Expr v = As(wide, e.Read(x, with(p, r[0])));
                                   const Expr least = te::Identity(te::Combiner::kMax, wide);
                                   return tir::Select(tir::Lt(least, v), v, least);
                                 });
  auto centred = [&](const Indices& point) {
    return As(wide, e.Read(x, point)) - e.ReadTensor(top, row_of(point));
  };
  const int exps = e.AddPoints(
      shape, ".exp", [&](const Indices& p) { return Call(Intrinsic::kExp, {centred(p)}); });
  const int sum = e.AddReduction(
      rows, {shape[axis]}, te::Combiner::kSum, ".sum",
      [&](const Indices& p, const Indices& r) { return e.ReadTensor(exps, with(p, r[0])); });
  // Once a row, so that no element pays for a quotient or a logarithm.
  const int scale = e.AddPoints(rows, log ? ".log" : ".scale", [&](const Indices& p) {
    const Expr s = e.ReadTensor(sum, p);
    return log ? Call(Intrinsic::kLog, {s}) : tir::Div(tir::Number(wide, 1), s);
  });
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr s = e.ReadTensor(scale, row_of(p));
    return As(type, log ? centred(p) - s : e.ReadTensor(exps, p) * s);
  });
  return OkStatus();
}

}  // namespace temper::ops
