// Attributes of a node: typed values by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/graph/tensor.h"

namespace temper::graph {

class Graph;

// A nested graph is closed: what ONNX lets it capture from around it becomes further inputs of
// the node and of the graph (control_flow.h). Graphs held by an attribute are not changed once
// shared; a pass puts a changed copy in place.
using Attribute = std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<const Graph>,
                               std::vector<int64_t>, std::vector<float>, std::vector<std::string>>;

using Attributes = std::map<std::string, Attribute>;

// "1", "0.5", "\"SAME_UPPER\"", "[1, 1]", "float32[3,3]", "graph"
std::string AttributeToString(const Attribute& attribute);
bool SameAttribute(const Attribute& a, const Attribute& b);  // graphs: only if the same object

}  // namespace temper::graph
