// Pass remove_identity: removes nodes that return their operand, and merges moves of data.
//
//   a = Identity(x); b = Dropout(a); c = Reshape(b, s); y = Reshape(c, t)
//   y = Reshape(x, t)
//
// Removed: Identity, Dropout, Cast to its own type, Reshape, Transpose, Expand, Slice, Pad, Tile
// and Reduce* that change nothing, Concat and Max, Min of one operand, Clip without bounds, adding
// 0 and multiplying by 1. Reshape of Reshape and Transpose of Transpose become one; a Transpose
// that moves only dimensions of size 1 is a Reshape.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunRemoveIdentity(Graph& graph);

}  // namespace temper::graph
