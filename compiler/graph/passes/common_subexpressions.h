// Pass common_subexpressions: nodes and constants that compute the same become one.
//
//   a = Relu(x); b = Relu(x); y = Add(a, b)
//   a = Relu(x); y = Add(a, a)
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunCommonSubexpressions(Graph& graph);

}  // namespace temper::graph
