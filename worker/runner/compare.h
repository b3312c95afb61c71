// Whether a kernel's output is right: |y - reference| <= 32 eps sum|a b|.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "deploy/runtime/abi.h"

namespace temper::runner {

// Element `index` of a buffer of `dtype` as a double.
double ElementAt(DType dtype, const void* data, int64_t index);

// How far an element of that type may be from a reference of this scale. Integers are exact.
double Tolerance(DType dtype, double magnitude);

// A reference output and what is allowed around each of its elements.
class ExpectedOutput {
 public:
  // `reference` and `magnitude` (the same computed on absolute inputs) are buffers laid out as
  // `info` says, halo included. A magnitude that is not finite counts as the reference's own. A
  // small part of the whole tensor's scale is allowed everywhere, for elements that cancel.
  static ExpectedOutput Make(const temper_arg_info& info, const void* reference,
                             const void* magnitude);

  // OK, or DATA_LOSS naming the first element that is wrong, and how many are. `error_scale`: how
  // many times the tolerance is allowed.
  Status Check(const void* output, double error_scale = 1) const;

  // Bytes held.
  int64_t bytes() const;

 private:
  DType dtype_ = DType::kFloat32;
  int64_t elements_ = 0;
  std::vector<double> wide_reference_;  // types other than float32
  std::vector<float> reference_, tolerance_;
  std::vector<double> wide_tolerance_;
  std::vector<uint8_t> exact_;  // integers: the bytes
  std::vector<uint8_t> halo_;   // empty: none
};

}  // namespace temper::runner
