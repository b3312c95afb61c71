// If, Loop and Scan of the model: what of them is decided when it is imported.
//
// A branch whose condition is constant is taken. A loop that takes a known number of trips and is
// small is written out, its trips one after the other; so is one that cannot be a loop because a
// shape in it follows from the number of the trip or changes from trip to trip, while the number of
// trips is known. Everything else becomes a node with nested graphs (native_flow.h,
// varying_loop.h).
//
//   y = Loop(3, true, x) {b = x + k}     ->  x1 = x + k; x2 = x1 + k; y = x2 + k
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"

namespace temper::importer {

// Whether the operator is If, Loop or Scan.
bool IsControlFlow(std::string_view op);

// The values of the node's outputs; kNone for some that nothing reads. `name` names it in errors,
// `inputs` are its values or kNone, `read` has the names that are read.
Result<std::vector<int>> AddControlFlow(GraphBuilder& builder, const onnx::NodeProto& node,
                                        const std::string& name, const std::vector<int>& inputs,
                                        const std::unordered_set<std::string>& read,
                                        const Scope& scope);

}  // namespace temper::importer
