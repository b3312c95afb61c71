#include "compiler/graph/passes/decompose.h"

#include "compiler/graph/compose/functions.h"
#include "compiler/graph/passes/fold_constants.h"

namespace temper::graph {
namespace {

// Whether all results that are wanted are static and without elements.
bool IsEmpty(const Graph& graph, const Node& node) {
  bool any = false;
  for (int output : node.outputs) {
    if (output == kNone) continue;
    if (!graph.type(output).IsStatic() || ElementCount(graph.shape(output)) != 0) return false;
    any = true;
  }
  return any;
}

}  // namespace

Status RunDecompose(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!IsEmpty(graph, graph.node(id))) {
      TEMPER_RETURN_IF_ERROR(ComposeNode(graph, id));
      continue;
    }
    const std::vector<int> outputs = graph.node(id).outputs;
    for (int output : outputs) {
      if (output == kNone) continue;
      graph.MakeConstant(output, MakeTensor(*graph.type(output).dtype, graph.shape(output)));
    }
    graph.RemoveNode(id);
  }
  return RunFoldConstants(graph);
}

}  // namespace temper::graph
