#include "compiler/partition/outputs.h"

#include <fmt/format.h>

#include <set>

namespace temper::partition {

Status MaterializeOutputs(graph::Graph& graph) {
  std::set<int> seen;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const int value = graph.outputs()[i];
    const bool first = seen.insert(value).second;
    if (first && graph.ProducerOf(value) != nullptr) continue;
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
