// y * scale + shift, one number for each output channel, folded into the node that computes y.
// Shared by fold_batch_norm and fold_scales.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace temper::graph {

// Whether `node` is a Conv, ConvTranspose or Gemm with constant floating-point weights, whose
// result nobody else reads, so that FoldChannelScale will succeed.
bool CanScaleChannels(const Graph& graph, const Node& node);

// Rewrites weights and bias of `node` so that it computes its result times `scale` plus `shift`.
// Weights that other nodes share are copied. REQUIRES: CanScaleChannels; one number of each for
// each output channel (dimension 1 of the result).
void FoldChannelScale(Graph& graph, int node_id, const std::vector<double>& scale,
                      const std::vector<double>& shift);

}  // namespace temper::graph
