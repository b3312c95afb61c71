#include "compiler/graph/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control_flow.h"

namespace temper::graph {
namespace {

Status Fault(const std::string& what) { return Internal("graph verifier: " + what); }

Status CheckNode(const Graph& graph, const Node& node, std::vector<char>& defined) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int id = node.inputs[i];
    if (id == kNone) continue;
    if (id < 0 || id >= graph.value_count()) {
      return Fault(fmt::format("{} reads value {}, which does not exist", node.Describe(), id));
    }
    if (!defined[id]) {
      return Fault(
          fmt::format("{} reads '{}' before it is defined", node.Describe(), graph.value(id).name));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const int id = node.outputs[i];
    if (id == kNone) continue;
    if (id < 0 || id >= graph.value_count()) {
      return Fault(fmt::format("{} defines value {}, which does not exist", node.Describe(), id));
    }
    const Value& value = graph.value(id);
    if (defined[id]) return Fault(fmt::format("'{}' is defined twice", value.name));
    if (value.producer != node.id || value.producer_output != static_cast<int>(i)) {
      return Fault(fmt::format("'{}' does not know its producer", value.name));
    }
    defined[id] = 1;
  }
  return OkStatus();
}

}  // namespace

Status Verify(const Graph& graph) {
  std::vector<char> defined(static_cast<size_t>(graph.value_count()), 0);
  for (int id : graph.inputs()) {
    if (!graph.value(id).is_input || graph.value(id).producer != kNone || defined[id]) {
      return Fault(fmt::format("input '{}' has another definition", graph.value(id).name));
    }
    defined[id] = 1;
  }
  for (int id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.id != id) return Fault(fmt::format("value {} has id {}", id, value.id));
    if (!value.IsConstant()) continue;
    if (value.is_input || value.producer != kNone) {
      return Fault(fmt::format("constant '{}' has another definition", value.name));
    }
    if (value.type != TensorType(value.constant->dtype, value.constant->shape)) {
      return Fault(fmt::format("constant '{}' has the type {}", value.name, value.type.ToString()));
    }
    defined[id] = 1;
  }
  std::vector<char> seen(static_cast<size_t>(graph.node_limit()), 0);
  size_t input_count = 0;
  for (int id : graph.order()) {
    if (id < 0 || id >= graph.node_limit() || graph.node(id).id != id || seen[id]) {
      return Fault(fmt::format("the order names node {} wrongly", id));
    }
    seen[id] = 1;
    const Node& node = graph.node(id);
    TEMPER_RETURN_IF_ERROR(CheckNode(graph, node, defined));
    TEMPER_RETURN_IF_ERROR(CheckControlFlow(graph, node));
    for (const std::string& name : NestedNames(node)) {
      TEMPER_RETURN_IF_ERROR(Verify(Nested(node, name)).WithContext(node.Describe()));
    }
    input_count += node.inputs.size() - std::count(node.inputs.begin(), node.inputs.end(), kNone);
  }
  // Every use is an input of that value; as there are as many of both, every input is a use.
  size_t use_count = 0;
  for (int id = 0; id < graph.value_count(); ++id) {
    for (const Use& use : graph.value(id).uses) {
      if (use.node < 0 || use.node >= graph.node_limit() ||
          graph.node(use.node).Input(static_cast<size_t>(use.input)) != id) {
        return Fault(fmt::format("'{}' has a use that does not read it", graph.value(id).name));
      }
      ++use_count;
    }
  }
  if (use_count != input_count) {
    return Fault(fmt::format("{} uses are recorded for {} inputs", use_count, input_count));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const int id = graph.outputs()[i];
    if (id < 0 || id >= graph.value_count() || !defined[id]) {
      return Fault(fmt::format("output '{}' is not defined", graph.output_names()[i]));
    }
  }
  return OkStatus();
}

}  // namespace temper::graph
