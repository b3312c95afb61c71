#include "compiler/driver/model_constants.h"

#include <algorithm>
#include <set>

namespace temper::driver {
namespace {

// Of the last level, that constants may fill: read over and over, 16 of 32 MiB come at its rate, 20
// at half of it (docs/decisions.md).
constexpr double kCacheShare = 0.5;

int64_t BytesOf(const KernelBody& body, std::set<const void*>& seen) {
  int64_t bytes = 0;
  for (const ModelKernel& kernel : body.kernels) {
    for (int input : kernel.inputs) {
      const graph::Value& value = body.graph.value(PlaceOf(body, input).of);
      if (!value.IsConstant() || !seen.insert(value.constant->data).second) continue;
      bytes += value.constant->bytes();
    }
    for (const KernelBody& nested : kernel.bodies) bytes += BytesOf(nested, seen);
  }
  return bytes;
}

}  // namespace

int64_t ConstantBytes(const ModelKernels& model) {
  int64_t most = 0;
  for (const Specialization& specialization : model.specializations) {
    std::set<const void*> seen;
    most = std::max(most, BytesOf(specialization, seen));
  }
  return most;
}

Constants PlaceOfConstants(int64_t bytes, const Target& target) {
  const auto room = static_cast<double>(std::max(target.l2_bytes, target.l3_bytes));
  return static_cast<double>(bytes) <= kCacheShare * room ? Constants::kWarm : Constants::kCold;
}

}  // namespace temper::driver
