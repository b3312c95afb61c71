// Rewrites image operators to their channels-last forms.
//
//   before   %c: [1,64,56,56] = Conv(%x, %w);  %y = Relu(%c);  output %y
//   after    %t: [1,56,56,3] = Transpose(%x) {perm = [0,2,3,1]}
//            %c: [1,56,56,64] = temper.Conv(%t, %w);  %r = Relu(%c)
//            %y: [1,64,56,56] = Transpose(%r) {perm = [0,3,1,2]}
//
// Convolutions and pools (of any spatial rank) take the forms of domain "temper" (ops/op_table.h);
// global pools become ReduceMean and ReduceMax over the spatial axes. Elementwise operators,
// Concat, Softmax, Reduce*, Pad, Slice, Split and the like follow the layout of their operands,
// so that a Transpose stays only at the borders of the model and where an operator needs the
// original order (Reshape, MatMul). Transposes of the model that only undo the layout vanish, and
// where a tensor has one channel or one pixel a Reshape takes the place of a Transpose. Nodes for
// which the change costs more than it gains (layout.h) stay as they are.
#pragma once

#include <set>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::partition {

// REQUIRES: static types. Leaves no dead nodes behind.
Status ChannelsLast(graph::Graph& graph);

// The same with all nodes moved that can be, but for those that `stay`.
Status MoveChannelsLast(graph::Graph& graph, const std::set<int>& stay);

// A Reduce* with keepdims whose only use is a Reshape that drops just the reduced dimensions
// becomes one without keepdims (a global pool and the Flatten behind it).
Status DropReducedDimensions(graph::Graph& graph);

}  // namespace temper::partition
