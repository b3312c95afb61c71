// Pass fuse_layer_norm: a layer normalization that an exporter spelled out becomes one.
//
//   m = ReduceMean(x, [-1]); d = Sub(x, m); v = ReduceMean(Pow(d, 2), [-1])
//   n = Div(d, Sqrt(Add(v, 1e-5))); y = Add(Mul(n, scale), bias)
//
//   y = LayerNormalization(x, scale, bias) {axis = -1, epsilon = 1e-5}
//
// The square may be a product; the quotient may be a product with a reciprocal. Scale and bias
// join where they are constants of the normalized dimensions and nobody else reads what is between.
// Run it after common_subexpressions: exporters subtract the mean twice.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

// REQUIRES: canonical nodes.
Status RunFuseLayerNorm(Graph& graph);

}  // namespace temper::graph
