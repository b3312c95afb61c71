#include "compiler/graph/passes/fold_constants.h"

#include <algorithm>

#include "compiler/graph/eval/eval.h"

namespace temper::graph {

Status RunFoldConstants(Graph& graph) {
  int64_t growth_left = kMaxGrowthBytes;
  const std::vector<int> order = graph.order();
  for (int id : order) {
    const Node& node = graph.node(id);
    int64_t operand_bytes = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor* tensor = graph.ConstantInput(node, i);
      if (tensor != nullptr) operand_bytes += tensor->bytes();
    }
    TEMPER_ASSIGN_OR_RETURN(const auto bytes, FoldNode(graph, id, operand_bytes + growth_left));
    // Every result is charged for what it adds, a constant's second reader included.
    if (bytes) growth_left -= std::max<int64_t>(0, *bytes - operand_bytes);
  }
  return OkStatus();
}

}  // namespace temper::graph
