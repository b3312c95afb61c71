#include "compiler/graph/passes/infer_shapes.h"

#include <fmt/format.h>

#include "compiler/graph/infer/infer.h"

namespace temper::graph {
namespace {

// Why an output of the node has no static type; its inputs have.
Status Explain(const Graph& graph, const Node& node, int output) {
  if (graph.type(output).IsBounded()) {
    return Unimplemented(fmt::format(
        "{}: how large its result '{}' {} is depends on values that are only known when the model "
        "runs; such a result can leave the model, but nodes can read it, as {} does, only where no "
        "more than {} elements or rows are possible (smaller inputs, or a lower limit of the "
        "operator, would do)",
        node.Describe(), graph.value(output).name, graph.type(output).ToString(),
        graph.node(graph.value(output).uses[0].node).Describe(), kMostOpen));
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const int input = node.inputs[i];
    if (input == kNone || graph.value(input).IsConstant() || IsFloat(*graph.type(input).dtype)) {
      continue;
    }
    return Unimplemented(fmt::format(
        "{}: the shape of its result depends on the values of '{}', which are only known when the "
        "model runs; such models are not supported",
        node.Describe(), graph.value(input).name));
  }
  return Unimplemented(
      fmt::format("{}: the shape of its result is not known before the model runs; such models are "
                  "not supported",
                  node.Describe()));
}

}  // namespace

Status RunInferShapes(Graph& graph) {
  for (int input : graph.inputs()) {
    if (graph.type(input).IsStatic()) continue;
    return InvalidArgument(fmt::format("input '{}' is {}; its sizes must be set with --shape",
                                       graph.value(input).name, graph.type(input).ToString()));
  }
  const std::vector<int> order = graph.order();
  for (int id : order) TEMPER_RETURN_IF_ERROR(InferAndFoldSmall(graph, id));
  for (int id : graph.order()) {
    const Node& node = graph.node(id);
    for (int output : node.outputs) {
      if (output == kNone || graph.type(output).IsStatic()) continue;
      // A bound is enough where nothing but the caller reads the value.
      if (graph.type(output).IsBounded() && graph.value(output).uses.empty()) continue;
      return Explain(graph, node, output);
    }
  }
  return OkStatus();
}

}  // namespace temper::graph
