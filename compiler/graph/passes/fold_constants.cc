#include "compiler/graph/passes/fold_constants.h"

#include <algorithm>

#include "compiler/graph/eval/eval.h"

namespace temper::graph {
namespace {

bool IsOnlyReader(const Graph& graph, int node, int value) {
  const auto& uses = graph.value(value).uses;
  return !graph.IsOutput(value) &&
         std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return u.node == node; });
}

// Those that no kernel computes.
bool MakesFromNothing(const Node& node) {
  for (const char* op : {"ConstantOfShape", "EyeLike", "Range", "HannWindow", "HammingWindow",
                         "BlackmanWindow", "MelWeightMatrix"}) {
    if (node.Is(op)) return true;
  }
  return false;
}

}  // namespace

Status RunFoldConstants(Graph& graph) {
  int64_t constant_bytes = 0;
  for (int id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).IsConstant()) constant_bytes += graph.value(id).constant->bytes();
  }
  int64_t growth_left = kMaxFoldedBytes + constant_bytes;
  int64_t fills_left = kMaxGrowthBytes;  // what must be computed now
  int64_t work_left = kMaxGrowthBytes + 16 * constant_bytes;
  const std::vector<int> order = graph.order();
  for (int id : order) {
    const Node& node = graph.node(id);
    int64_t operand_bytes = 0, freed_bytes = 0;  // freed: nobody else reads them
    std::vector<int> seen;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor* tensor = graph.ConstantInput(node, i);
      if (tensor == nullptr) continue;
      operand_bytes += tensor->bytes();
      if (std::find(seen.begin(), seen.end(), node.inputs[i]) != seen.end()) continue;
      seen.push_back(node.inputs[i]);
      if (IsOnlyReader(graph, id, node.inputs[i])) freed_bytes += tensor->bytes();
    }
    if (operand_bytes > work_left) continue;
    int64_t& left = MakesFromNothing(node) ? fills_left : growth_left;
    TEMPER_ASSIGN_OR_RETURN(const auto bytes, FoldNode(graph, id, freed_bytes + left));
    if (!bytes || *bytes == 0) continue;
    left -= std::max<int64_t>(0, *bytes - freed_bytes);
    work_left -= operand_bytes + *bytes;
  }
  return OkStatus();
}

}  // namespace temper::graph
