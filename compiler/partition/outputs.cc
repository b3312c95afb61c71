#include "compiler/partition/outputs.h"

#include <fmt/format.h>

#include <set>

#include "compiler/graph/control_flow.h"

namespace temper::partition {
namespace {

// Whether the value lies wherever a loop's last trip left it, or the number of trips was counted.
bool IsCarried(const graph::Graph& graph, const graph::Node& node, int value) {
  return node.Is("Loop") && graph.value(value).producer_output <
                                static_cast<int>(graph::LoopLayout(node).first_row_result());
}

}  // namespace

Status MaterializeOutputs(graph::Graph& graph) {
  std::set<int> seen;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const int value = graph.outputs()[i];
    const bool first = seen.insert(value).second;
    const graph::Node* producer = graph.ProducerOf(value);
    if (first && producer != nullptr && !IsCarried(graph, *producer, value)) continue;
    if (!graph.type(value).IsStatic()) {
      return Unimplemented(fmt::format(
          "output '{}' is another output as well, and its shape is only known when the model runs; "
          "name it once",
          graph.output_names()[i]));
    }
    const int id = graph.AddNode("Identity", {value}, {graph.output_names()[i]});
    const int copy = graph.node(id).outputs[0];
    graph.SetType(copy, graph.type(value));
    graph.SetOutput(i, copy);
  }
  return OkStatus();
}

}  // namespace temper::partition
