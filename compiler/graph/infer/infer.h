// Shape inference: the types of a node's outputs from the types and constants of its inputs.
//
// Inference is static: a node is looked at once the types of all its inputs are static, and an
// output whose shape depends on data that is not constant stays unknown (no error here: the pass
// infer_shapes reports it). A node whose inputs contradict its operator is an error that names it.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

// Whether the operator finds out only in the run how large its results are: NonZero and the like.
// Nodes can read what is memory with room for the largest: such a node has the attribute `room`
// (control_flow.h), and one more output, an int64 list of the extents that its first one has.
bool OpensExtents(const Node& node);
// The most that such an extent may be where nodes read the result: they are compiled for each.
inline constexpr int64_t kMostOpen = 255;

// Sets the types of the node's outputs where they follow from its inputs.
Status InferNode(Graph& graph, int node_id);

// InferNode, and then FoldNode (eval/eval.h) where the results are small, as shape computations
// are: what later nodes need to know their shapes.
Status InferAndFoldSmall(Graph& graph, int node_id);

}  // namespace temper::graph
