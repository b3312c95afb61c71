// Operators that are functions of the runtime library (deploy/runtime/op.h): what such a function
// is called for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::ops {

struct RuntimeCall {
  std::string op;             // its name in TEMPER_RUNTIME_OPS
  std::vector<int> operands;  // graph values, inputs then outputs; kNone: absent
  int input_count = 0;
  std::vector<int64_t> ints;  // as the function says
  std::vector<double> floats;
  int64_t workspace_bytes = 0;
  bool open_shapes = false;  // the function says what extents its outputs have
  // An int64 list that receives those of the first output; else kNone.
  int extents = graph::kNone;

  std::vector<int> Inputs() const;   // present ones
  std::vector<int> Outputs() const;  // those that are wanted
};

// REQUIRES: the node's operator is of kind kRuntime and its types are static or bounded.
Result<RuntimeCall> MakeRuntimeCall(const graph::Graph& graph, const graph::Node& node);

}  // namespace temper::ops
