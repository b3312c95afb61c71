// Normalizations, at inference.
#include <algorithm>
#include <array>
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

constexpr int kMostRecomputed = 4;  // elementwise stages one behind the other

// Loads of elementwise stages replaced by what these compute, so that reading a few elements does
// not ask for the whole row first.
Expr Recomputed(const te::Program& program, const Expr& value, int depth = 0) {
  if (depth == kMostRecomputed) return value;
  return tir::Rewrite(value, [&](const Expr& e) -> Expr {
    if (e->kind() != tir::ExprKind::kLoad) return {};
    const int producer = program.tensors[e->buffer()].producer;
    if (producer < 0 || program.stages[producer].combiner != te::Combiner::kNone) return {};
    const te::Stage& stage = program.stages[producer];
    std::vector<Expr> map(program.next_var);
    for (size_t d = 0; d < stage.spatial.size(); ++d) {
      map[stage.spatial[d].var->var_id()] = e->indices()[d];
    }
    return Recomputed(program, tir::Substitute(stage.body, map), depth + 1);
  });
}

Indices Unflattened(int64_t position, const graph::Shape& shape) {
  Indices indices(shape.size(), Expr(0));
  for (size_t d = shape.size(); d-- > 0;) {
    indices[d] = Expr(position % shape[d]);
    position /= shape[d];
  }
  return indices;
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

// One pass over a row for the sum and the sum of squares of its distances from a number near its
// mean: the median of three elements. Two of a row's N elements are at least as far from its mean m
// as that number is, so that its deviation s bounds the distance, (shift - m)^2 <= s^2 N / 2, and
// what cancels below is at most N / 2 times the variance: next to nothing where no two of the three
// are far from all others. Rows of one number have exactly that mean, and no variance.
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
  const int64_t count = *graph::ElementCount(inner);
  const Expr inverse = tir::Number(wide, 1 / static_cast<double>(count));
  auto element = [&](const Indices& p, const Indices& r) {
    Indices indices(p.begin(), p.begin() + axis);
    indices.insert(indices.end(), r.begin(), r.end());
    return As(wide, e.Read(x, indices));
  };
  auto row_of = [&](Indices p) {
    std::fill(p.begin() + axis, p.end(), Expr(0));
    return p;
  };
  const int shift = e.AddPoints(rows, ".shift", [&](const Indices& p) {
    std::array<Expr, 3> sample;
    for (int64_t i = 0; i < 3; ++i) {
      sample[i] = Recomputed(e.program(), element(p, Unflattened(i * count / 3, inner)));
    }
    // Not minima, which would keep NaNs: with one in a row its sum is one anyway.
    auto lesser = [](const Expr& a, const Expr& b) { return tir::Select(tir::Lt(a, b), a, b); };
    auto greater = [](const Expr& a, const Expr& b) { return tir::Select(tir::Lt(b, a), a, b); };
    const Expr low = lesser(sample[0], sample[1]), high = greater(sample[0], sample[1]);
    return greater(low, lesser(high, sample[2]));
  });
  auto distance = [&](const Indices& p, const Indices& r) {
    return element(p, r) - e.ReadTensor(shift, row_of(p));
  };
  const int sum = e.AddReduction(rows, inner, te::Combiner::kSum, ".sum", distance);
  const int squares = e.AddReduction(rows, inner, te::Combiner::kSum, ".squares",
                                     [&](const Indices& p, const Indices& r) {
                                       const Expr d = distance(p, r);
                                       return d * d;
                                     });
  const int mean = e.AddPoints(rows, ".mean", [&](const Indices& p) {
    return e.ReadTensor(shift, p) + e.ReadTensor(sum, p) * inverse;
  });
  const double epsilon = e.node().Float("epsilon", 1e-5f);
  const int deviation = e.AddPoints(rows, ".inverse", [&](const Indices& p) {
    const Expr off = e.ReadTensor(sum, p) * inverse;
    const Expr variance = e.ReadTensor(squares, p) * inverse - off * off;
    return InverseDeviation(tir::Max(variance, tir::Number(wide, 0)), epsilon);
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
