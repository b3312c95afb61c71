#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/graph/eval/context.h"

namespace temper::graph {
namespace {

double Initial(std::string_view op) {
  if (op == "ReduceProd") return 1;
  if (op == "ReduceMax") return -std::numeric_limits<double>::infinity();
  if (op == "ReduceMin") return std::numeric_limits<double>::infinity();
  return 0;
}

double Accumulate(std::string_view op, double sum, double x) {
  if (op == "ReduceProd") return sum * x;
  if (op == "ReduceMax") return std::max(sum, x);
  if (op == "ReduceMin") return std::min(sum, x);
  if (op == "ReduceL1") return sum + std::fabs(x);
  if (op == "ReduceL2" || op == "ReduceSumSquare") return sum + x * x;
  return sum + x;  // ReduceSum, ReduceMean, ReduceLogSum
}

double Finish(std::string_view op, double sum, double count) {
  if (op == "ReduceMean") return sum / count;
  if (op == "ReduceL2") return std::sqrt(sum);
  if (op == "ReduceLogSum") return std::log(sum);
  return sum;
}

}  // namespace

Result<bool> EvalReduce(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const std::string_view op = c.node.op;
  if (op == "ReduceLogSumExp" || x.size() == 0) return false;
  // Doubles hold the sums and products of small integers exactly; others are left alone.
  if (ByteSize(x.dtype) == 8 && !IsFloat(x.dtype)) {
    for (int64_t i = 0; i < x.size(); ++i) {
      if (std::abs(x.DoubleAt(i)) > 0x1p20) return false;
    }
  }
  TEMPER_ASSIGN_OR_RETURN(const auto axes, ReduceAxes(c.types));
  Shape kept = x.shape;
  for (int64_t axis : *axes) kept[axis] = 1;
  const std::vector<int64_t> out_strides = BroadcastStrides(kept, x.shape);
  std::vector<double> sums(static_cast<size_t>(*ElementCount(kept)), Initial(op));
  const int64_t step = x.shape.empty() ? 0 : out_strides.back();
  ForEachRow(x.shape, Strides(x.shape), out_strides, [&](int64_t in, int64_t out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      double& sum = sums[out + i * step];
      sum = Accumulate(op, sum, x.DoubleAt(in + i));
    }
  });
  const double count = static_cast<double>(x.size()) / static_cast<double>(sums.size());
  for (double& sum : sums) {
    sum = Finish(op, sum, count);
    if (IsFloat(x.dtype)) continue;
    if (std::fabs(sum) > 0x1p52) return false;
    sum = std::trunc(sum);
  }
  c.out[0] = MakeFromDoubles(x.dtype, c.OutShape(), sums);
  return true;
}

}  // namespace temper::graph
