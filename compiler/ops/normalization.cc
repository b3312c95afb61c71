// Normalizations, at inference.
#include <algorithm>
#include <utility>

#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Call;
using tir::Expr;
using tir::Intrinsic;

Expr InverseDeviation(const Expr& variance, double epsilon) {
  const DType type = variance->type().dtype;
  return tir::Div(tir::Number(type, 1),
                  Call(Intrinsic::kSqrt, {variance + tir::Number(type, epsilon)}));
}

// base ^ -beta for a base above 0. The powers that networks use are roots: pow is a call a lane.
Expr InversePower(const Expr& base, double beta) {
  const DType type = base->type().dtype;
  auto inverse = [&](const Expr& v) { return tir::Div(tir::Number(type, 1), v); };
  auto root = [](const Expr& v) { return Call(Intrinsic::kSqrt, {v}); };
  if (beta == 0.5) return inverse(root(base));
  if (beta == 0.75) return inverse(root(base) * root(root(base)));
  if (beta == 1) return inverse(base);
  return Call(Intrinsic::kExp, {tir::Number(type, -beta) * Call(Intrinsic::kLog, {base})});
}

}  // namespace

// Inputs: x, scale, bias, mean, variance; the latter four by channel. Usually folded away.
Status BuildBatchNormalization(Emitter& e) {
  const graph::Shape shape = e.shape(e.Input(0));
  if (shape.size() < 2) return e.Refuse("its operand has no channels");
  const int channel = e.ChannelAxis(static_cast<int>(shape.size()));
  const double epsilon = e.node().Float("epsilon", 1e-5f);
  e.DefinePoints(0, [&](const Indices& p) {
    auto by_channel = [&](size_t i) { return e.Read(e.Input(i), Indices{p[channel]}); };
    const DType type = e.dtype(e.Input(0));
    const Expr scale = As(type, by_channel(1)) * As(type, InverseDeviation(by_channel(4), epsilon));
    return (e.Read(e.Input(0), p) - As(type, by_channel(3))) * scale + As(type, by_channel(2));
  });
  return OkStatus();
}

// Two passes: the mean, then the mean square of what is left.
Status BuildLayerNormalization(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape shape = e.shape(x);
  const DType type = e.dtype(x), wide = AccumulatorType(type);
  if (shape.empty()) return e.Refuse("its operand is a scalar");
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", -1), shape.size()));
  // Rows keep the normalized dimensions with extent 1, as the outputs Mean and InvStdDev do.
  graph::Shape rows = shape;
  std::fill(rows.begin() + axis, rows.end(), 1);
  const graph::Shape inner(shape.begin() + axis, shape.end());
  const Expr inverse = tir::Number(wide, 1 / static_cast<double>(*graph::ElementCount(inner)));
  auto element = [&](const Indices& p, const Indices& r) {
    Indices indices(p.begin(), p.begin() + axis);
    indices.insert(indices.end(), r.begin(), r.end());
    return As(wide, e.Read(x, indices));
  };
  auto row_of = [&](Indices p) {
    std::fill(p.begin() + axis, p.end(), Expr(0));
    return p;
  };
  const int sum = e.AddReduction(rows, inner, te::Combiner::kSum, ".sum", element);
  const int mean =
      e.AddPoints(rows, ".mean", [&](const Indices& p) { return e.ReadTensor(sum, p) * inverse; });
  const int squares = e.AddReduction(rows, inner, te::Combiner::kSum, ".squares",
                                     [&](const Indices& p, const Indices& r) {
                                       const Expr d = element(p, r) - e.ReadTensor(mean, row_of(p));
                                       return d * d;
                                     });
  const double epsilon = e.node().Float("epsilon", 1e-5f);
  const int deviation = e.AddPoints(rows, ".inverse", [&](const Indices& p) {
    return InverseDeviation(e.ReadTensor(squares, p) * inverse, epsilon);
  });
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr centred = As(wide, e.Read(x, p)) - e.ReadTensor(mean, row_of(p));
    Expr y = centred * e.ReadTensor(deviation, row_of(p));
    y = y * As(wide, e.ReadBroadcast(e.Input(1), p));
    if (e.HasInput(2)) y = y + As(wide, e.ReadBroadcast(e.Input(2), p));
    return As(type, y);
  });
  // Statistics are float32 where ONNX's stash type says so, however wide they were computed.
  for (const auto& [i, tensor] : {std::pair(1, mean), std::pair(2, deviation)}) {
    const int value = e.Output(static_cast<size_t>(i));
    if (value == graph::kNone) continue;
    if (e.dtype(value) == wide) {
      e.Define(value, tensor);
    } else {
      e.DefinePoints(static_cast<size_t>(i), [&, t = tensor](const Indices& p) {
        return As(e.dtype(value), e.ReadTensor(t, p));
      });
    }
  }
  return OkStatus();
}

// y = x / (bias + alpha / size * sum over the neighbouring channels of x^2) ^ beta
Status BuildLrn(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape shape = e.shape(x);
  const DType type = e.dtype(x);
  const int64_t size = e.node().Int("size", 0);
  if (shape.size() < 2 || size < 1 || size > 4096) return e.Refuse("this rank or size");
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  const int channel = e.ChannelAxis(static_cast<int>(shape.size()));
  const double alpha = e.node().Float("alpha", 1e-4f), beta = e.node().Float("beta", 0.75f);
  const double bias = e.node().Float("bias", 1.0f);
  const int sum = e.AddReduction(
      shape, {size}, te::Combiner::kSum, ".squares", [&](const Indices& p, const Indices& r) {
        Indices at = p;
        at[channel] = p[channel] + r[0] - Expr((size - 1) / 2);
        const Expr inside =
            tir::And(tir::Le(Expr(0), at[channel]), tir::Lt(at[channel], Expr(shape[channel])));
        const Expr v = e.Read(x, at);
        return tir::Select(inside, v * v, tir::Number(type, 0));
      });
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr base = tir::Number(type, bias) +
                      e.ReadTensor(sum, p) * tir::Number(type, alpha / static_cast<double>(size));
    const bool positive = bias > 0 && alpha >= 0;
    return e.Read(x, p) * (positive ? InversePower(base, beta)
                                    : Call(Intrinsic::kPow, {base, tir::Number(type, -beta)}));
  });
  return OkStatus();
}

}  // namespace temper::ops
