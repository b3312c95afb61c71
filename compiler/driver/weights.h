// The object file that holds a model's weights.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/module_builder.h"

namespace temper::driver {

// Packs the weights, on at most `threads` threads, and writes them as an object to `path`. What is
// packed lies in a mapped file in `folder` meanwhile, so that models larger than memory work.
// REQUIRES: weight_bytes > 0.
Status WriteWeights(const std::vector<Weight>& weights, int64_t weight_bytes, int threads,
                    const std::string& folder, const std::string& path);

}  // namespace temper::driver
