#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 30;

// The number of a constant scalar operand; nothing if it is absent or computed.
Result<std::optional<int64_t>> Scalar(const InferContext& c, size_t i) {
  const Tensor* tensor = c.Constant(i);
  if (tensor == nullptr) return std::optional<int64_t>();
  if (!IsInt(tensor->dtype) || tensor->size() != 1) {
    return c.Error(fmt::format("input {} must be one integer", i));
  }
  const int64_t value = tensor->IntAt(0);
  if (value < 1 || value > kMaxLength) return c.Error(fmt::format("input {} is {}", i, value));
  return std::optional<int64_t>(value);
}

}  // namespace

Status InferDft(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 64));
  const Shape& x = c.shape(0);
  if (!IsFloat(c.dtype(0))) return c.Error("its input must be floating point");
  if (x.back() != 1 && x.back() != 2) {
    return c.Error("the last dimension of its input must be 1, or 2 for complex numbers");
  }
  int64_t stated = c.node().Int("axis", -2);
  if (c.Has(2)) {
    if (!IsInt(c.dtype(2)) || ElementCount(c.shape(2)) != 1) {
      return c.Error("its axis must be one integer");
    }
    if (c.Constant(2) == nullptr) return OkStatus();
    stated = c.Constant(2)->IntAt(0);
  }
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(stated, c.rank(0)));
  if (axis == c.rank(0) - 1) return c.Error("its axis is that of the complex parts");
  TEMPER_ASSIGN_OR_RETURN(const auto length, Scalar(c, 1));
  if (c.Has(1) && !length) return OkStatus();
  const int64_t n = length.value_or(x[axis]);
  if (n < 1) return c.Error(fmt::format("there is nothing to transform along its axis {}", axis));
  const bool onesided = c.node().Int("onesided", 0) != 0;
  if (onesided && (x.back() == 2 || c.node().Int("inverse", 0) != 0)) {
    return c.Error("onesided is for forward transforms of real input");
  }
  Shape out = x;
  out[axis] = onesided ? n / 2 + 1 : n;
  out.back() = 2;
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferStft(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 3));
  const Shape& x = c.shape(0);
  if (!IsFloat(c.dtype(0))) return c.Error("its input must be floating point");
  if (x.size() == 3 && x[2] != 1 && x[2] != 2)
    return c.Error("its signal is neither real nor complex");
  TEMPER_ASSIGN_OR_RETURN(const auto step, Scalar(c, 1));
  TEMPER_ASSIGN_OR_RETURN(const auto length, Scalar(c, 3));
  if (!step || (c.Has(3) && !length)) return OkStatus();
  if (!c.Has(2) && !c.Has(3)) return c.Error("it needs a window or a frame_length");
  const int64_t n = length ? *length : c.shape(2).empty() ? 0 : c.shape(2)[0];
  if (c.Has(2)) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
    if (c.shape(2) != Shape{n}) return c.Error(fmt::format("its window must have {} elements", n));
  }
  if (n < 1 || n > x[1]) return c.Error(fmt::format("frames of {} do not fit {} samples", n, x[1]));
  const bool onesided = c.node().Int("onesided", 1) != 0;
  if (onesided && x.size() == 3 && x[2] == 2) return c.Error("onesided is for real signals");
  return c.Set(0, c.dtype(0), {x[0], (x[1] - n) / *step + 1, onesided ? n / 2 + 1 : n, 2});
}

namespace {

Result<DType> OutputType(const InferContext& c) {
  const std::string name = c.node().String("output_datatype", "float32");
  const auto dtype = ParseDType(name);
  if (!dtype) return c.Error(fmt::format("output_datatype '{}' is not supported", name));
  return *dtype;
}

}  // namespace

Status InferWindow(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const DType dtype, OutputType(c));
  TEMPER_ASSIGN_OR_RETURN(const auto size, Scalar(c, 0));
  return size ? c.Set(0, dtype, {*size}) : OkStatus();
}

Status InferMelWeightMatrix(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const DType dtype, OutputType(c));
  TEMPER_ASSIGN_OR_RETURN(const auto bins, Scalar(c, 0));
  TEMPER_ASSIGN_OR_RETURN(const auto length, Scalar(c, 1));
  TEMPER_ASSIGN_OR_RETURN(const auto rate, Scalar(c, 2));
  for (size_t i = 3; i < 5; ++i) {
    if (!IsFloat(c.dtype(i)) || ElementCount(c.shape(i)) != 1) {
      return c.Error(fmt::format("input {} must be one floating-point number", i));
    }
    if (c.Constant(i) == nullptr) return OkStatus();
  }
  if (!bins || !length || !rate) return OkStatus();
  if (*bins > (1 << 20) || *length > (1 << 26)) return c.Error("it is too large");
  return c.Set(0, dtype, {*length / 2 + 1, *bins});
}

}  // namespace temper::graph
