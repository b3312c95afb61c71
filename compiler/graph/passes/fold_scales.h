// Pass fold_scales: multiplying and adding constants after a Conv, ConvTranspose or Gemm becomes
// part of its weights and bias.
//
//   c = Conv(x, w, b); d = Mul(c, [64,1,1]); y = Add(d, [64,1,1])
//   y = Conv(x, w * m, b * m + a)
//
// Where the constant has one value for each output channel, or one in all, and nobody else reads
// what is between. Sub and Div by a constant count too.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunFoldScales(Graph& graph);

}  // namespace temper::graph
