// What a fuzzed graph goes through behind the importer.
#pragma once

#include "compiler/graph/graph.h"

namespace temper::fuzz {

// All graph passes, the partition, and the kernels' programs in canonical form. An error is a
// fine answer unless it is INTERNAL, which aborts.
void RunFrontEnd(graph::Graph& graph);

}  // namespace temper::fuzz
