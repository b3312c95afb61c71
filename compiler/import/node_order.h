// The order in which a graph's nodes can be built, and the checks that this rests on.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "compiler/import/onnx.pb.h"

namespace temper::importer {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// The node's name for messages: its own, or that of its first output.
std::string NodeName(const onnx::NodeProto& node, int index);

// Calls `f` with every name that the node reads: its inputs that are there, then what its nested
// graphs read from around them.
void ForEachRead(const onnx::NodeProto& node, const std::function<void(const std::string&)>& f);

// Indices of the nodes in topological order, stable where the file's order is right. `known`:
// the names of the graph's inputs and constants; `captured` says of other names that they come from
// around the graph. An error if a name is defined twice, or read and never defined, or if nodes
// form a cycle.
Result<std::vector<int>> OrderNodes(const NodeList& nodes,
                                    const std::unordered_set<std::string>& known,
                                    const std::function<bool(const std::string&)>& captured);

}  // namespace temper::importer
