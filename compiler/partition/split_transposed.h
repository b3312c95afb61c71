// Transposed convolutions become direct ones, whose result has an axis for the phase: the position
// modulo the stride.
//
//   before  %c: [1,64,64,24] = temper.ConvTranspose(%x, %w, %b) {kernel_shape = strides = [2,2]}
//           %y = Relu(%c)
//   after   %c: [1,32,2,32,48] = Einsum(%x, %w') {equation = "abcz,pzy->abpcy"}
//           %d = Add(%c, %b');  %r = Relu(%d);  %y: [1,64,64,24] = Reshape(%r)
//
// Where windows overlap it is a temper.PhaseConv (ops/op_table.h), and what a stride cuts off
// behind it is a Slice. A Reshape moves nothing. Elementwise operators behind come in front of it,
// so that they stay in the convolution's kernel.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::partition {

// REQUIRES: static types; run after ChannelsLast. Those with groups, dilations or computed weights
// stay.
Status SplitTransposed(graph::Graph& graph);

}  // namespace temper::partition
