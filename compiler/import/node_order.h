// The order in which a model's nodes can be built, and the checks that this rests on.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "compiler/import/onnx.pb.h"

namespace temper::importer {

// The node's name for messages: its own, or that of its first output.
std::string NodeName(const onnx::NodeProto& node, int index);

// Indices of the graph's nodes in topological order, stable where the file's order is right.
// `known`: the names of inputs and constants. An error if a name is defined twice, or read and
// never defined, or if nodes form a cycle.
Result<std::vector<int>> OrderNodes(const onnx::GraphProto& graph,
                                    const std::unordered_set<std::string>& known);

// An error that lists every operator that the compiler does not know, with its nodes.
Status CheckOperators(const onnx::GraphProto& graph);

}  // namespace temper::importer
