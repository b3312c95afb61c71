#include "compiler/graph/passes/dead_code.h"

namespace temper::graph {

Status RunDeadCode(Graph& graph) {
  graph.RemoveDead();
  graph.Compact();
  return OkStatus();
}

}  // namespace temper::graph
