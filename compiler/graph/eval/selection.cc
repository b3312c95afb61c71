#include <cstring>

#include "compiler/graph/eval/context.h"

namespace temper::graph {

Result<bool> EvalNonZero(EvalContext& c) {
  const Tensor& x = *c.in[0];
  std::byte* out = c.Make();
  const int64_t count = c.OutShape()[1];
  int64_t found = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.DoubleAt(i) == 0) continue;
    int64_t rest = i;
    for (size_t d = x.shape.size(); d-- > 0; rest /= x.shape[d]) {
      StoreInt(DType::kInt64, rest % x.shape[d],
               out + (static_cast<int64_t>(d) * count + found) * 8);
    }
    ++found;
  }
  return true;
}

Result<bool> EvalCompress(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const Tensor& keep = *c.in[1];
  int64_t size = x.size(), inner = 1;
  if (c.node.Has("axis")) {
    int64_t axis = c.node.Int("axis", 0);
    axis += axis < 0 ? static_cast<int64_t>(x.shape.size()) : 0;
    size = x.shape[axis];
    for (size_t d = static_cast<size_t>(axis) + 1; d < x.shape.size(); ++d) inner *= x.shape[d];
  }
  std::byte* out = c.Make();
  const int64_t bytes = inner * ByteSize(x.dtype);
  for (int64_t i = 0; bytes > 0 && i < x.bytes() / bytes; ++i) {
    const int64_t at = i % size;
    if (at >= keep.size() || keep.IntAt(at) == 0) continue;
    std::memcpy(out, x.data + i * bytes, static_cast<size_t>(bytes));
    out += bytes;
  }
  return true;
}

}  // namespace temper::graph
