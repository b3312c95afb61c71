#include "tests/compiler/te/evaluate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "compiler/te/interpret.h"

namespace temper::te {

int64_t Elements(const Tensor& t) {
  int64_t n = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    n *= t.shape[d] + (t.halo_before.empty() ? 0 : t.halo_before[d] + t.halo_after[d]);
  }
  return n;
}

std::vector<std::vector<uint8_t>> Evaluate(const Program& p) {
  Rng rng(5);
  std::vector<std::vector<uint8_t>> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (int id : p.inputs) {
    const Tensor& t = p.tensors[id];
    auto& bytes = inputs.emplace_back(Elements(t) * ByteSize(t.dtype));
    for (int64_t i = 0; i < Elements(t); ++i) {
      auto v = static_cast<float>(rng.Normal());
      if (t.dtype == DType::kFloat32) {
        std::memcpy(&bytes[i * 4], &v, 4);
      } else {
        bytes[i] = static_cast<uint8_t>(rng.Next());
      }
    }
  }
  for (int id : p.outputs) {
    const Tensor& t = p.tensors[id];
    outputs.emplace_back(Elements(t) * ByteSize(t.dtype));
  }
  for (auto& bytes : inputs) in.push_back(bytes.data());
  for (auto& bytes : outputs) out.push_back(bytes.data());
  Status status = EvaluateProgram(p, in, out, {.precision = Precision::kNative});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return outputs;
}

}  // namespace temper::te
