#include "compiler/graph/print.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compiler/graph/control_flow.h"

namespace temper::graph {
namespace {

// "%name", with the id where the name is empty or would not read as one word.
std::string Ref(const Graph& graph, int id) {
  if (id == kNone) return "_";
  const std::string& name = graph.value(id).name;
  if (name.empty() || name.find_first_of(" ,()\"") != std::string::npos ||
      EscapeControl(name) != name) {
    return fmt::format("%{}", id);
  }
  return "%" + name;
}

std::string Refs(const Graph& graph, const std::vector<int>& ids) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += ", ";
    text += Ref(graph, ids[i]);
  }
  return text;
}

std::string NodeLine(const Graph& graph, const Node& node) {
  std::string line = "  ";
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (i > 0) line += ", ";
    line += Ref(graph, node.outputs[i]);
    if (node.outputs[i] != kNone) line += ": " + graph.type(node.outputs[i]).ToString();
  }
  line += fmt::format(" = {}{}({})", node.domain.empty() ? "" : node.domain + ".", node.op,
                      Refs(graph, node.inputs));
  if (!node.attributes.empty()) {
    line += " {";
    bool first = true;
    for (const auto& [name, value] : node.attributes) {
      line += fmt::format("{}{} = {}", first ? "" : ", ", name, AttributeToString(value));
      first = false;
    }
    line += "}";
  }
  for (size_t i = 0; i < node.sources.size(); ++i)
    line += (i == 0 ? "  # " : " + ") + EscapeControl(node.sources[i]);
  return line + "\n";
}

// The nested graphs of a node, further in.
std::string NestedText(const Node& node) {
  std::string text;
  for (const std::string& name : NestedNames(node)) {
    const std::string nested = name + ": " + Print(Nested(node, name));
    for (size_t at = 0; at < nested.size();) {
      const size_t end = nested.find('\n', at) + 1;
      text += "    " + nested.substr(at, end - at);
      at = end;
    }
  }
  return text;
}

}  // namespace

std::string Print(const Graph& graph) {
  std::string text = fmt::format("graph \"{}\" {{\n", EscapeControl(graph.name));
  for (int id : graph.inputs()) {
    text += fmt::format("  input {}: {}\n", Ref(graph, id), graph.type(id).ToString());
  }
  for (int id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.IsConstant() || (value.uses.empty() && !graph.IsOutput(id))) continue;
    text += fmt::format("  const {}: {}", Ref(graph, id), value.type.ToString());
    if (!IsFloat(value.constant->dtype) && value.constant->size() <= 8) {
      text += " = " + ShapeToString(value.constant->AsInts());
    } else if (IsFloat(value.constant->dtype) && value.constant->size() == 1) {
      text += fmt::format(" = {}", value.constant->AsDoubles()[0]);
    }
    text += "\n";
  }
  for (int id : graph.order()) {
    text += NodeLine(graph, graph.node(id)) + NestedText(graph.node(id));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    text += fmt::format("  output \"{}\": {}\n", EscapeControl(graph.output_names()[i]),
                        Ref(graph, graph.outputs()[i]));
  }
  return text + "}\n";
}

}  // namespace temper::graph
