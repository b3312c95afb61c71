// Operators that are compositions of others become those (compose/functions.h).
//
//   before  y = InstanceNormalization(x, scale, bias)
//   after   f = Reshape(x, [n, c, h * w]); l = LayerNormalization(f, 1) {axis = 2}
//           r = Reshape(l, [n, c, h, w]); m = Mul(r, Reshape(scale, [c, 1, 1]))
//           y = Add(m, Reshape(bias, [c, 1, 1]))
//
// A result without elements becomes a constant, as do a reduction over no elements and what then
// depends on constants only.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunDecompose(Graph& graph);

}  // namespace temper::graph
