// The equation of an Einsum node taken apart; inference and the kernel share it.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/infer/context.h"

namespace temper::graph {

struct EinsumPlan {
  std::vector<std::vector<int>> operands;  // a label for each dimension of each operand
  std::vector<int> output;                 // a label for each dimension of the result
  std::vector<int64_t> extent;             // of each label
};

// INVALID_ARGUMENT where the equation does not fit the shapes; the message has no node's name.
Result<EinsumPlan> ParseEinsum(const std::string& equation, const std::vector<Shape>& shapes);

}  // namespace temper::graph
