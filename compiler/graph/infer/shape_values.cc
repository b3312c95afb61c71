#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

Status InferShape(InferContext& c) {
  // Unlike elsewhere, start and end outside the range are clamped.
  const auto clamp = [&](int64_t v) {
    return std::clamp<int64_t>(v < 0 ? v + c.rank(0) : v, 0, c.rank(0));
  };
  const int64_t start = clamp(c.node().Int("start", 0));
  const int64_t end = clamp(c.node().Int("end", c.rank(0)));
  return c.Set(0, DType::kInt64, {std::max<int64_t>(0, end - start)});
}

Status InferSize(InferContext& c) { return c.Set(0, DType::kInt64, {}); }

Status InferConstant(InferContext& c) {
  const auto it = c.node().attributes.find("value");
  const Tensor* value =
      it == c.node().attributes.end() ? nullptr : std::get_if<Tensor>(&it->second);
  if (value == nullptr) return c.Error("it has no value");
  return c.Set(0, value->dtype, value->shape);
}

Status InferConstantOfShape(InferContext& c) {
  DType dtype = DType::kFloat32;
  const auto it = c.node().attributes.find("value");
  if (it != c.node().attributes.end()) {
    const Tensor* value = std::get_if<Tensor>(&it->second);
    if (value == nullptr || value->size() != 1) return c.Error("its value must be one element");
    dtype = value->dtype;
  }
  TEMPER_ASSIGN_OR_RETURN(const auto shape, c.ConstantInts(0));
  if (!shape) return OkStatus();
  return c.Set(0, dtype, *shape);
}

Status InferRange(InferContext& c) {
  double values[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    const Tensor* tensor = c.Constant(i);
    if (tensor == nullptr) return OkStatus();
    if (tensor->size() != 1) return c.Error("its operands must be scalars");
    values[i] = tensor->AsDoubles()[0];
  }
  const double count = std::ceil((values[1] - values[0]) / values[2]);
  if (values[2] == 0 || !(count < 0x1p48)) {  // also where it is not a number
    return c.Error(
        fmt::format("a range from {} to {} by {} has no end", values[0], values[1], values[2]));
  }
  return c.Set(0, c.dtype(0), {count > 0 ? static_cast<int64_t>(count) : 0});
}

}  // namespace temper::graph
