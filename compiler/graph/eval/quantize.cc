// Dequantization of constant weights.
#include "compiler/graph/eval/context.h"

namespace temper::graph {

Result<bool> EvalDequantizeLinear(EvalContext& c) {
  const Tensor& x = *c.in[0];
  if (c.node.Int("block_size", 0) > 0 || IsFloat(x.dtype)) return false;
  const Tensor& scale = *c.in[1];
  const Tensor* zero = c.in.size() > 2 ? c.in[2] : nullptr;
  int64_t inner = 1, size = 1;
  if (scale.size() > 1) {
    if (scale.shape.size() != 1) return false;
    int64_t axis = c.node.Int("axis", 1);
    axis += axis < 0 ? static_cast<int64_t>(x.shape.size()) : 0;
    size = x.shape[axis];
    for (size_t d = static_cast<size_t>(axis) + 1; d < x.shape.size(); ++d) inner *= x.shape[d];
  }
  if (zero != nullptr && zero->size() != scale.size()) return false;
  std::byte* out = c.Make();
  const DType dtype = c.OutDType();
  for (int64_t i = 0; i < x.size(); ++i, out += ByteSize(dtype)) {
    const int64_t k = i / inner % size;
    const int64_t centred = x.IntAt(i) - (zero == nullptr ? 0 : zero->IntAt(k));
    StoreDouble(dtype, static_cast<double>(static_cast<float>(centred)) * scale.DoubleAt(k), out);
  }
  return true;
}

}  // namespace temper::graph
