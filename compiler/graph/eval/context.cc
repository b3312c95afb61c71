#include "compiler/graph/eval/context.h"

#include <cstring>

namespace temper::graph {

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::vector<int64_t> BroadcastStrides(const Shape& from, const Shape& to) {
  const std::vector<int64_t> own = Strides(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) strides[lead + i] = own[i];
  }
  return strides;
}

void CopyBox(int64_t size, const Shape& shape, const std::byte* in,
             const std::vector<int64_t>& in_strides, std::byte* out,
             const std::vector<int64_t>& out_strides) {
  const int64_t in_step = shape.empty() ? 1 : in_strides.back();
  const int64_t out_step = shape.empty() ? 1 : out_strides.back();
  ForEachRow(shape, in_strides, out_strides, [&](int64_t from, int64_t to, int64_t count) {
    const std::byte* source = in + from * size;
    std::byte* target = out + to * size;
    if (in_step == 1 && out_step == 1) {
      std::memcpy(target, source, static_cast<size_t>(count * size));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(target + i * out_step * size, source + i * in_step * size,
                  static_cast<size_t>(size));
    }
  });
}

}  // namespace temper::graph
