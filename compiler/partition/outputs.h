// Outputs of the graph that no node computes.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::partition {

// An output that is an input, a constant, what a Loop carries or the same value as an output before
// it becomes the result of an Identity, so that every output is written by exactly one kernel.
//   before  output "y": %x; output "z": %x        (%x an input)
//   after   %a = Identity(%x); %b = Identity(%x); output "y": %a; output "z": %b
Status MaterializeOutputs(graph::Graph& graph);

}  // namespace temper::partition
