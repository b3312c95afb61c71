// y * scale + shift, one number for each output channel, folded into the node that computes y.
// Shared by fold_batch_norm and fold_scales.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace temper::graph {

// One number of each for each output channel (dimension 1 of the result).
struct ChannelAffine {
  std::vector<double> scale;
  std::vector<double> shift;
};

class ChannelFolder {
 public:
  // New weights may take as much room as twice the constants that are there, and a gibibyte: many
  // nodes may share one large constant.
  explicit ChannelFolder(Graph& graph);

  // What `node` computes from its operand `x`, as scale and shift; nothing if it is not that.
  using AffineOf = std::function<std::optional<ChannelAffine>(const Node& node, int x)>;

  // Folds the chain of nodes behind `producer` into its weights and bias, as long as each reads
  // the one before it alone and `affine_of` knows it. Nothing happens unless `producer` is a Conv,
  // ConvTranspose or Gemm with constant floating-point weights and bias. Weights that other nodes
  // share are copied.
  void FoldChain(int producer, const AffineOf& affine_of);

 private:
  Graph& graph_;
  int64_t bytes_left_;
};

}  // namespace temper::graph
