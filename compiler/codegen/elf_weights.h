// The object that holds a model's weights, written without a compiler.
//
// A relocatable x86-64 ELF object with one read-only section `.rodata.weights`, aligned to a
// page, and one hidden symbol `temper_weights` at its start. The bytes go from where they are
// straight to the file, so weights of any size cost no memory here.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace temper::codegen {

inline constexpr char kWeightsSymbol[] = "temper_weights";

struct WeightSpan {
  int64_t offset = 0;  // bytes into temper_weights
  std::span<const uint8_t> bytes;
};

// `spans` in ascending order without overlap, inside [0, total_bytes); gaps are zeros.
// REQUIRES: that, and total_bytes > 0. The file at `path` is made or replaced.
Status WriteWeightsObject(const std::string& path, std::span<const WeightSpan> spans,
                          int64_t total_bytes);

}  // namespace temper::codegen
