#include "compiler/te/constants.h"

#include <algorithm>

namespace temper::te {
namespace {

constexpr double kEvictedBytes = 1 << 20;  // from so many on, by worker/runner/cold_constants.h
constexpr double kMostGrowth = 4;          // of a constant in F(4x4, 3x3): 36 values of 9

}  // namespace

bool HasLargeConstants(const Program& program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) {
    double bytes = ByteSize(tensor.dtype);
    for (int64_t extent : tensor.shape) bytes *= static_cast<double>(extent);
    return tensor.constant && bytes * kMostGrowth >= kEvictedBytes;
  });
}

}  // namespace temper::te
