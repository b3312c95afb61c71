// Runs a loop nest compiled and interpreted on the same random data and compares all outputs.
#pragma once

#include <gtest/gtest.h>

#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {

struct RefereeOptions {
  uint64_t seed = 1;
  Target target = DetectTarget();
  double float_tolerance = 1e-6;  // relative to max(1, |expected|); integers are exact
  double low = -4, high = 4;      // of the random inputs; integers are rounded
};

// Fills inputs at random (halos too) and outputs with bytes of 0x11, and expects equal outputs.
void ExpectAgree(const tir::Function& function, const std::vector<bool>& outputs,
                 const RefereeOptions& options = {});

// One element as a double, whatever its type.
double Element(const void* data, DType dtype, int64_t i);
void SetElement(void* data, DType dtype, int64_t i, double value);

}  // namespace temper::codegen
