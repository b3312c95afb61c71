// If, Loop and Scan, written out when the model is imported.
//
// A branch whose condition is constant is taken; otherwise both branches are computed and their
// results selected, which needs equal types. A loop is unrolled, its trip count being constant or,
// for Scan, a dimension. A loop's condition that is only known at run time freezes what it carries
// from then on.
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
