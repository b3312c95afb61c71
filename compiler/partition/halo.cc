#include "compiler/partition/halo.h"

#include <algorithm>

#include "compiler/ops/window.h"

namespace temper::partition {

ops::Halos AssignHalos(const graph::Graph& graph) {
  ops::Halos halos;
  for (int id : graph.order()) {
    const graph::Node& node = graph.node(id);
    const int value = node.Input(0);
    if (value == graph::kNone || graph.ProducerOf(value) == nullptr || graph.IsOutput(value)) {
      continue;
    }
    const ops::Halo wanted = ops::WantedHalo(graph, node);
    if (wanted.before.empty()) continue;
    ops::Halo& halo = halos.try_emplace(value, wanted).first->second;
    for (size_t d = 0; d < halo.before.size(); ++d) {
      halo.before[d] = std::max(halo.before[d], wanted.before[d]);
      halo.after[d] = std::max(halo.after[d], wanted.after[d]);
    }
  }
  return halos;
}

}  // namespace temper::partition
