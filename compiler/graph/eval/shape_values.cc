#include <algorithm>
#include <cstring>

#include "compiler/graph/eval/context.h"

namespace temper::graph {

Result<bool> EvalShape(EvalContext& c) {
  const Shape& shape = c.types.shape(0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t start = c.node.Int("start", 0);
  const int64_t first = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  const int64_t count = c.OutShape()[0];
  c.out[0] = MakeInts({count}, std::span(shape).subspan(count == 0 ? 0 : first, count));
  return true;
}

Result<bool> EvalSize(EvalContext& c) {
  const int64_t count = *ElementCount(c.types.shape(0));
  c.out[0] = MakeInts({}, {&count, 1});
  return true;
}

Result<bool> EvalConstant(EvalContext& c) {
  c.out[0] = std::get<Tensor>(c.node.attributes.at("value"));
  return true;
}

Result<bool> EvalConstantOfShape(EvalContext& c) {
  std::byte* out = c.Make();
  const auto it = c.node.attributes.find("value");
  if (it == c.node.attributes.end()) return true;  // zeros
  const Tensor& value = std::get<Tensor>(it->second);
  const int64_t size = ByteSize(value.dtype);
  const int64_t count = c.out[0].size();
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * size, value.data, static_cast<size_t>(size));
  }
  return true;
}

Result<bool> EvalEyeLike(EvalContext& c) {
  std::byte* out = c.Make();
  const DType dtype = c.OutDType();
  const Shape shape = c.OutShape();
  const int64_t k = std::clamp(c.node.Int("k", 0), -shape[0], shape[1]);
  // Only rows that reach the diagonal: without columns there may be any number of others.
  const int64_t end = std::min(shape[0], shape[1] - k);
  for (int64_t row = std::max<int64_t>(0, -k); row < end; ++row) {
    StoreDouble(dtype, 1, out + (row * shape[1] + row + k) * ByteSize(dtype));
  }
  return true;
}

Result<bool> EvalRange(EvalContext& c) {
  std::byte* out = c.Make();
  const DType dtype = c.OutDType();
  const int64_t count = c.out[0].size();
  for (int64_t i = 0; i < count; ++i, out += ByteSize(dtype)) {
    if (IsFloat(dtype)) {
      const double step = c.in[2]->DoubleAt(0);
      StoreDouble(dtype, c.in[0]->DoubleAt(0) + static_cast<double>(i) * step, out);
    } else {
      const uint64_t start = static_cast<uint64_t>(c.in[0]->IntAt(0));
      const uint64_t step = static_cast<uint64_t>(c.in[2]->IntAt(0));
      StoreInt(dtype, static_cast<int64_t>(start + static_cast<uint64_t>(i) * step), out);
    }
  }
  return true;
}

}  // namespace temper::graph
