#include "compiler/ops/product_sum.h"

namespace temper::ops {

using tir::Expr;

void DefineSum(Emitter& e, const graph::Shape& reduced, const ReduceBody& body) {
  const int y = e.Output(0);
  const DType type = e.dtype(y);
  const bool wide = AccumulatorType(e.dtype(e.Input(0))) != type;
  const int sum = e.AddReduction(e.shape(y), reduced, te::Combiner::kSum, wide ? ".sum" : "", body);
  if (!wide) return e.Define(y, sum);
  e.DefinePoints(0, [&](const Indices& p) { return As(type, e.ReadTensor(sum, p)); });
}

void DefineProductSum(Emitter& e, int channel_axis, const graph::Shape& reduced,
                      const FactorsBody& factors) {
  const int y = e.Output(0);
  const DType type = e.dtype(e.Input(0)), accumulator = AccumulatorType(type);
  auto widen = [&](const Expr& v) { return As(accumulator, v); };
  const bool more = e.HasInput(2) || accumulator != type;
  const int sum =
      e.AddReduction(e.shape(y), reduced, te::Combiner::kSum, more ? ".sum" : "",
                     [&](const Indices& point, const Indices& r) {
                       const Factors f = factors(point, r);
                       Expr operand = widen(f.operand);
                       if (f.inside) {
                         operand = tir::Select(f.inside, operand, tir::Number(accumulator, 0));
                       }
                       return operand * widen(f.weight);
                     });
  if (!more) {
    e.Define(y, sum);
    return;
  }
  e.DefinePoints(0, [&](const Indices& point) {
    Expr v = e.ReadTensor(sum, point);
    if (e.HasInput(2)) v = v + widen(e.Read(e.Input(2), Indices{point[channel_axis]}));
    return As(type, v);
  });
}

}  // namespace temper::ops
