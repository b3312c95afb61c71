// Pass dead_code: removes what no output depends on, and renumbers nodes and values.
//
//   a = Relu(x); b = Neg(x); output a
//   a = Relu(x); output a
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunDeadCode(Graph& graph);

}  // namespace temper::graph
