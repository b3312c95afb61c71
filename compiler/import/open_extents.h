// Results of which only the run knows how large they are (graph::OpensExtents), where nodes read
// them.
//
//   i = NonZero(x), x of [2,3]; y = Transpose(i)
//   ->  i, e = NonZero(x), where i has room for 12 elements and e is [2, n]; i varies with n =
//   e[1]:
//       [2,0], [2,1] ... [2,6]
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"

namespace temper::importer {

// Looks at the results of a node that was just added, and puts others in their place where they are
// such. Results of which nothing but the caller of the model reads, or that may have too many
// extents (graph::kMostOpen), stay as they are.
Status LetExtentsVary(GraphBuilder& builder, const onnx::NodeProto& node, const Scope& scope,
                      std::vector<int>* results);

}  // namespace temper::importer
