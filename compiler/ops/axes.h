// Axes that operators take as attributes or inputs.
#pragma once

#include "compiler/ops/emitter.h"

namespace temper::ops {

// `axis` counted from the front. INVALID_ARGUMENT, naming the node, if it is out of range.
Result<int> NormalizeAxis(const graph::Node& node, int64_t axis, size_t rank);

// The axes of input `i` if it is there, else of the attribute `axes`, sorted and distinct; empty
// if there are neither.
Result<std::vector<int>> AxesOf(const Emitter& e, size_t i, size_t rank);

}  // namespace temper::ops
