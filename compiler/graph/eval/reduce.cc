#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

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
  if (op == "ReduceMax") return std::isnan(x) || x > sum ? x : sum;
  if (op == "ReduceMin") return std::isnan(x) || x < sum ? x : sum;
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

// Integers modulo 2^64, of which the type's bits are kept; signed ones are sign-extended.
class IntegerReduction {
 public:
  IntegerReduction(std::string_view op, DType dtype) : op_(op), signed_(IsSignedInt(dtype)) {}

  uint64_t Initial() const {
    if (op_ == "ReduceProd") return 1;
    if (op_ == "ReduceMax") return signed_ ? uint64_t{1} << 63 : 0;
    if (op_ == "ReduceMin") return signed_ ? ~uint64_t{0} >> 1 : ~uint64_t{0};
    return 0;
  }
  uint64_t Accumulate(uint64_t sum, uint64_t x) const {
    if (op_ == "ReduceProd") return sum * x;
    if (op_ == "ReduceMax") return Less(sum, x) ? x : sum;
    if (op_ == "ReduceMin") return Less(x, sum) ? x : sum;
    if (op_ == "ReduceL1") return sum + (signed_ && Less(x, 0) ? 0 - x : x);
    if (op_ == "ReduceSumSquare") return sum + x * x;
    return sum + x;  // ReduceSum, ReduceMean
  }

 private:
  bool Less(uint64_t a, uint64_t b) const {
    return signed_ ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  }

  std::string_view op_;
  bool signed_;
};

// The elements of `x` gathered into one number a result each, in the results' order.
template <typename T, typename Load, typename Gather>
std::vector<T> Gathered(const Tensor& x, const std::vector<int64_t>& axes, T initial,
                        const Load& load, const Gather& gather) {
  Shape kept = x.shape;
  for (int64_t axis : axes) kept[axis] = 1;
  const std::vector<int64_t> out_strides = BroadcastStrides(kept, x.shape);
  std::vector<T> sums(static_cast<size_t>(*ElementCount(kept)), initial);
  const int64_t step = x.shape.empty() ? 0 : out_strides.back();
  ForEachRow(x.shape, Strides(x.shape), out_strides, [&](int64_t in, int64_t out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      T& sum = sums[out + i * step];
      sum = gather(sum, load(in + i));
    }
  });
  return sums;
}

bool ReduceIntegers(EvalContext& c, const std::vector<int64_t>& axes) {
  const Tensor& x = *c.in[0];
  const std::string_view op = c.node.op;
  if (op == "ReduceL2" || op == "ReduceLogSum") return false;
  const IntegerReduction reduction(op, x.dtype);
  const std::vector<uint64_t> sums = Gathered<uint64_t>(
      x, axes, reduction.Initial(), [&](int64_t i) { return static_cast<uint64_t>(x.IntAt(i)); },
      [&](uint64_t sum, uint64_t v) { return reduction.Accumulate(sum, v); });
  const int64_t count = x.size() / static_cast<int64_t>(sums.size());
  const int size = ByteSize(x.dtype);
  std::byte* out = c.Make();
  for (size_t i = 0; i < sums.size(); ++i) {
    StoreInt(x.dtype, static_cast<int64_t>(sums[i]), out + i * size);
  }
  if (op != "ReduceMean") return true;
  // The sum that the type holds is divided, toward zero.
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t sum = c.out[0].IntAt(static_cast<int64_t>(i));
    const int64_t mean =
        IsSignedInt(x.dtype)
            ? sum / count
            : static_cast<int64_t>(static_cast<uint64_t>(sum) / static_cast<uint64_t>(count));
    StoreInt(x.dtype, mean, out + i * size);
  }
  return true;
}

}  // namespace

Result<bool> EvalReduce(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const std::string_view op = c.node.op;
  if (op == "ReduceLogSumExp" || x.size() == 0) return false;
  TEMPER_ASSIGN_OR_RETURN(const auto axes, ReduceAxes(c.types));
  if (!IsFloat(x.dtype)) return ReduceIntegers(c, *axes);
  std::vector<double> sums = Gathered<double>(
      x, *axes, Initial(op), [&](int64_t i) { return x.DoubleAt(i); },
      [&](double sum, double v) { return Accumulate(op, sum, v); });
  const double count = static_cast<double>(x.size()) / static_cast<double>(sums.size());
  for (double& sum : sums) sum = Finish(op, sum, count);
  c.out[0] = MakeFromDoubles(x.dtype, c.OutShape(), sums);
  return true;
}

}  // namespace temper::graph
