// A graph as text, for people: one line a node.
//
//   graph "resnet" {
//     input %x: float32[1,3,224,224]
//     const %w: float32[64,3,7,7]
//     %y: float32[1,64,112,112] = Conv(%x, %w, _) {strides = [2, 2]}  # conv1
//     output "y": %y
//   }
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace temper::graph {

std::string Print(const Graph& graph);

}  // namespace temper::graph
