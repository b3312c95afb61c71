// Pass infer_shapes: gives every value a static type, folding the shape computations on the way.
//
//   s = Shape(x); n = Gather(s, 0); c = Concat(n, [-1]); y = Reshape(x, c)     x: [2,3,4]
//   y: [2,12] = Reshape(x, [2,-1])
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

// Fails where a node contradicts its operator, or where a shape depends on data that is only known
// when the model runs; both name the node.
Status RunInferShapes(Graph& graph);

}  // namespace temper::graph
