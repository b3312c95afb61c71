// Evaluation of nodes whose inputs are constant: a small interpreter for shape computations and
// for constants that models compute from others. Elements are computed in double or int64 and
// rounded to the type of the result.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

// Replaces the node's outputs by constants if every input is constant (Shape, Size and EyeLike
// need only the type of theirs), the types of its outputs are known, the operator is one that is
// evaluated, and the results together have at most `max_bytes` bytes. The node is removed. Returns
// the bytes of the new constants, or nothing if it was not folded (a node may rightly fold to 0
// bytes).
Result<std::optional<int64_t>> FoldNode(Graph& graph, int node_id, int64_t max_bytes);

}  // namespace temper::graph
