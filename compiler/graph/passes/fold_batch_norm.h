// Pass fold_batch_norm: inference's BatchNormalization becomes part of the node before it.
//
//   c = Conv(x, w, b); y = BatchNormalization(c, scale, bias, mean, var)
//   y = Conv(x, w * k, (b - mean) * k + bias)      with k = scale / sqrt(var + epsilon)
//
// Into Conv, ConvTranspose and Gemm with constant weights that nobody else reads; any other becomes
// y = Add(Mul(x, k), bias - mean * k), which fold_scales or a kernel's epilogue takes up. Nodes
// whose statistics are not constant stay.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunFoldBatchNorm(Graph& graph);

}  // namespace temper::graph
