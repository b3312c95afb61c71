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

// Sets the types of the node's outputs where they follow from its inputs.
Status InferNode(Graph& graph, int node_id);

// InferNode, and then FoldNode (eval/eval.h) where the results are small, as shape computations
// are: what later nodes need to know their shapes.
Status InferAndFoldSmall(Graph& graph, int node_id);

}  // namespace temper::graph
