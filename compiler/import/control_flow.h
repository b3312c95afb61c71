// If, Loop and Scan of the model: what of them is decided when it is imported.
//
// A branch whose condition is constant is taken. A loop that takes a known number of trips and is
// small is written out, its trips one after the other; so is one that cannot be a loop because a
// shape in it follows from the number of the trip or changes from trip to trip. Everything else
// becomes a node with nested graphs (native_flow.h).
//
//   y = Loop(3, true, x) {b = x + k}     ->  x1 = x + k; x2 = x1 + k; y = x2 + k
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"

namespace temper::importer {

// Whether the operator is If, Loop or Scan.
bool IsControlFlow(std::string_view op);

// The values of the node's outputs. `name` names it in errors, `inputs` are its values or kNone.
Result<std::vector<int>> AddControlFlow(GraphBuilder& builder, const onnx::NodeProto& node,
                                        const std::string& name, const std::vector<int>& inputs,
                                        const Scope& scope);

}  // namespace temper::importer
