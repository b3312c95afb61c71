// From an operator as the model's opset defines it to its canonical form.
//
//   opset 6    y = Clip(x) {min = 0, max = 6}
//   canonical  y = Clip(x, 0, 6)
//
//   opset 11   y = Softmax(x) {axis = 1}         flattens to two dimensions
//   canonical  s = Shape(x); f = Flatten(x) {axis = 1}; g = Softmax(f) {axis = 1}
//              y = Reshape(g, s)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::importer {

// A node of the model, its inputs resolved to values of the graph.
struct SourceNode {
  std::string op;
  std::string name;                  // never empty: the model's, or made from an output's
  std::vector<int> inputs;           // value ids or graph::kNone
  std::vector<std::string> outputs;  // names; empty where nobody asked
  std::vector<bool> used;            // whether the model reads each output
  graph::Attributes attributes;
};

// Appends to the graph the nodes and constants that compute `node`, inferring types on the way.
// Returns the value ids of its outputs (kNone where absent). REQUIRES: graph::FindOp knows the
// operator.
Result<std::vector<int>> Upgrade(graph::Graph& graph, int opset, SourceNode node);

}  // namespace temper::importer
