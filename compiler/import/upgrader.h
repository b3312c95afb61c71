// One node of the model on its way to canonical form: what upgrades and composites work with.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/import/upgrade.h"

namespace temper::importer {

class Upgrader {
 public:
  Upgrader(graph::Graph& graph, int opset, SourceNode& node)
      : graph(graph), opset(opset), node(node) {}

  graph::Graph& graph;
  const int opset;
  SourceNode& node;

  Status Error(const std::string& what) const {
    return InvalidArgument(fmt::format("{} '{}': {}", node.op, node.name, what));
  }
  Status Refuse(const std::string& what) const {
    return Unimplemented(fmt::format("{} '{}': {}", node.op, node.name, what));
  }

  // --- The node ----------------------------------------------------------------------------------

  int Input(size_t i) const { return i < node.inputs.size() ? node.inputs[i] : graph::kNone; }
  bool Has(size_t i) const { return Input(i) != graph::kNone; }
  // Whether the model reads output `i`.
  bool Used(size_t i) const { return i < node.used.size() && node.used[i]; }
  // The name of output `i`; a made one where the model has none.
  std::string OutputName(size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty() ? node.outputs[i]
                                                               : fmt::format("{}/{}", node.name, i);
  }

  // Takes the attribute away. Null where absent or of another type.
  template <typename T>
  std::optional<T> Take(const std::string& name) {
    const auto it = node.attributes.find(name);
    if (it == node.attributes.end()) return std::nullopt;
    std::optional<T> value;
    if (const T* held = std::get_if<T>(&it->second)) value = *held;
    node.attributes.erase(it);
    return value;
  }

  // An error unless inputs [0, required) are there and of known element type and shape.
  Status RequireStatic(size_t required) const;
  // REQUIRES: RequireStatic covers the input.
  graph::Shape Shape(int value) const { return graph.shape(value); }
  DType Type(int value) const { return *graph.type(value).dtype; }

  // --- Constants ---------------------------------------------------------------------------------

  int Constant(const std::string& what, graph::Tensor tensor) {
    return graph.AddConstant(node.name + "/" + what, std::move(tensor));
  }
  int Ints(const std::string& what, const std::vector<int64_t>& values) {
    return Constant(what, graph::MakeInts({static_cast<int64_t>(values.size())}, values));
  }
  // A scalar of the type.
  int Number(const std::string& what, DType dtype, double value) {
    return Constant(what, graph::MakeFromDoubles(dtype, {}, {&value, 1}));
  }

  // --- Changing the node -------------------------------------------------------------------------

  void SetInput(size_t index, int value) {
    if (node.inputs.size() <= index) node.inputs.resize(index + 1, graph::kNone);
    node.inputs[index] = value;
  }
  // An attribute of ints that became input `index`.
  void IntsToInput(const std::string& name, size_t index) {
    if (auto values = Take<std::vector<int64_t>>(name)) SetInput(index, Ints(name, *values));
  }
  // An attribute of one float that became a scalar input of the data's type.
  Status FloatToInput(const std::string& name, size_t index);
  // Outputs from `first` on that the model does not read are dropped; one that it reads is an
  // error.
  Status DropOutputs(size_t first);

  // --- Adding nodes ------------------------------------------------------------------------------

  // Adds a node that carries the source's name, checks it and infers its types. Returns its first
  // output.
  Result<int> Emit(std::string op, std::vector<int> inputs, std::vector<std::string> outputs,
                   graph::Attributes attributes = {});
  // The same with one output, named after the node and `what`.
  Result<int> Emit(const std::string& op, std::vector<int> inputs, const std::string& what,
                   graph::Attributes attributes = {}) {
    return Emit(op, std::move(inputs), std::vector<std::string>{node.name + "/" + what},
                std::move(attributes));
  }
  // All outputs of the node added last.
  const std::vector<int>& results() const { return results_; }
  // The node itself, as it now is.
  Result<std::vector<int>> EmitNode();

 private:
  std::vector<int> results_;
};

}  // namespace temper::importer
