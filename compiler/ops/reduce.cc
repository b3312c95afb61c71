// Reductions over axes, and the position of an extreme.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Call;
using tir::Expr;
using tir::Intrinsic;

// Where the reduced axes are, and how an operand is indexed by a point of the result.
struct Reduction {
  graph::Shape in, out, reduced;
  std::vector<bool> is_reduced;
  bool keep = true;

  Indices Operand(const Indices& point, const Indices& r) const {
    Indices indices;
    size_t p = 0, k = 0;
    for (size_t d = 0; d < in.size(); ++d) {
      indices.push_back(is_reduced[d] ? r[k++] : point[p]);
      p += !is_reduced[d] || keep;
    }
    return indices;
  }
};

Expr Before(const std::string& op, const Expr& x) {
  if (op == "ReduceL1") {
    if (IsFloat(x->type().dtype)) return Call(Intrinsic::kAbs, {x});
    if (IsUnsignedInt(x->type().dtype)) return x;
    return tir::Max(x, tir::Number(x->type().dtype, 0) - x);
  }
  if (op == "ReduceL2" || op == "ReduceSumSquare") return x * x;
  return x;
}

te::Combiner CombinerOf(const std::string& op) {
  if (op == "ReduceMax") return te::Combiner::kMax;
  if (op == "ReduceMin") return te::Combiner::kMin;
  if (op == "ReduceProd") return te::Combiner::kProd;
  return te::Combiner::kSum;
}

bool Holds(DType type, int64_t count) {
  const Expr number = tir::IntImm({type, 1}, count);
  return number->int_value() == count;
}

Expr After(const std::string& op, const Expr& x, int64_t count) {
  const DType type = x->type().dtype;
  if (op == "ReduceMean") {
    const auto n = static_cast<double>(count);
    return IsFloat(type) ? x * tir::Number(type, 1 / n) : tir::Div(x, tir::Number(type, n));
  }
  if (op == "ReduceL2") return Call(Intrinsic::kSqrt, {x});
  if (op == "ReduceLogSum") return Call(Intrinsic::kLog, {x});
  return x;
}

// log(sum(exp(x))), with the largest element taken out so that nothing overflows.
void BuildLogSumExp(Emitter& e, const Reduction& red) {
  const int x = e.Input(0);
  const DType type = e.dtype(x), wide = AccumulatorType(type);
  const int top = e.AddReduction(
      red.out, red.reduced, te::Combiner::kMax, ".max",
      [&](const Indices& p, const Indices& r) { return As(wide, e.Read(x, red.Operand(p, r))); });
  // Of infinities nothing is taken off: their difference would be NaN.
  const auto shift = [&](const Indices& p) {
    const Expr most = e.ReadTensor(top, p);
    return tir::Select(Call(Intrinsic::kIsInf, {most}), tir::Number(wide, 0), most);
  };
  const int sum = e.AddReduction(
      red.out, red.reduced, te::Combiner::kSum, ".sum", [&](const Indices& p, const Indices& r) {
        return Call(Intrinsic::kExp, {As(wide, e.Read(x, red.Operand(p, r))) - shift(p)});
      });
  e.DefinePoints(0, [&](const Indices& p) {
    return As(type, Call(Intrinsic::kLog, {e.ReadTensor(sum, p)}) + shift(p));
  });
}

}  // namespace

Status BuildReduce(Emitter& e) {
  const std::string& op = e.node().op;
  const int x = e.Input(0);
  Reduction red;
  red.in = e.shape(x);
  red.out = e.shape(e.Output(0));
  red.keep = e.node().Int("keepdims", 1) != 0;
  TEMPER_ASSIGN_OR_RETURN(std::vector<int> axes, AxesOf(e, 1, red.in.size()));
  if (axes.empty() && e.node().Int("noop_with_empty_axes", 0) == 0) {
    for (size_t d = 0; d < red.in.size(); ++d) axes.push_back(static_cast<int>(d));
  }
  red.is_reduced.assign(red.in.size(), false);
  for (int axis : axes) {
    red.is_reduced[axis] = true;
    red.reduced.push_back(red.in[axis]);
  }
  const DType type = e.dtype(x);
  if (type == DType::kBool) return e.Refuse("bool operands are not supported");
  if (red.reduced.empty()) {
    e.DefinePoints(0, [&](const Indices& p) { return After(op, Before(op, e.Read(x, p)), 1); });
    return OkStatus();
  }
  if (*graph::ElementCount(red.reduced) == 0) return e.Refuse("it reduces over no elements");
  if (op == "ReduceLogSumExp") {
    BuildLogSumExp(e, red);
    return OkStatus();
  }
  // Else the sum would be divided by what is left of the count.
  if (op == "ReduceMean" && !IsFloat(type) && !Holds(type, *graph::ElementCount(red.reduced))) {
    return e.Refuse("it reduces over more elements than its type counts");
  }
  const bool extreme = op == "ReduceMax" || op == "ReduceMin";
  const DType wide = extreme ? type : AccumulatorType(type);
  const bool last = wide != type || op == "ReduceMean" || op == "ReduceL2" || op == "ReduceLogSum";
  const int sum = e.AddReduction(red.out, red.reduced, CombinerOf(op), last ? ".sum" : "",
                                 [&](const Indices& p, const Indices& r) {
                                   return Before(op, As(wide, e.Read(x, red.Operand(p, r))));
                                 });
  if (!last) {
    e.Define(e.Output(0), sum);
    return OkStatus();
  }
  const int64_t count = *graph::ElementCount(red.reduced);
  e.DefinePoints(
      0, [&](const Indices& p) { return As(type, After(op, e.ReadTensor(sum, p), count)); });
  return OkStatus();
}

// The extreme first, then the first or last position that holds it (or NaN).
Status BuildArgReduce(Emitter& e) {
  const int x = e.Input(0);
  const DType type = e.dtype(x);
  Reduction red;
  red.in = e.shape(x);
  red.out = e.shape(e.Output(0));
  red.keep = e.node().Int("keepdims", 1) != 0;
  if (red.in.empty()) return e.Refuse("its operand is a scalar");
  TEMPER_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(e.node(), e.node().Int("axis", 0), red.in.size()));
  if (red.in[axis] == 0) return e.Refuse("it reduces over no elements");
  red.is_reduced.assign(red.in.size(), false);
  red.is_reduced[axis] = true;
  red.reduced = {red.in[axis]};
  const bool last = e.node().Int("select_last_index", 0) != 0;
  const int extreme = e.AddReduction(
      red.out, red.reduced, e.node().op == "ArgMax" ? te::Combiner::kMax : te::Combiner::kMin,
      ".extreme", [&](const Indices& p, const Indices& r) { return e.Read(x, red.Operand(p, r)); });
  e.Define(e.Output(0),
           e.AddReduction(red.out, red.reduced, last ? te::Combiner::kMax : te::Combiner::kMin, "",
                          [&](const Indices& p, const Indices& r) {
                            const Expr v = e.Read(x, red.Operand(p, r));
                            Expr hit = tir::Eq(v, e.ReadTensor(extreme, p));
                            if (IsFloat(type)) hit = tir::Or(hit, tir::Ne(v, v));
                            return tir::Select(hit, r[0],
                                               Expr(last ? int64_t{0} : red.in[axis] - 1));
                          }));
  return OkStatus();
}

}  // namespace temper::ops
