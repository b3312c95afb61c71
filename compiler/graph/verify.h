// Checks that a graph is well formed.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

// Ids in range, one definition a value, definitions before uses, use lists that match, constants
// whose type is that of their tensor. A failure is a fault of the pass that ran last: kInternal.
Status Verify(const Graph& graph);

}  // namespace temper::graph
