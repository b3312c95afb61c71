#include "compiler/import/upgrader.h"

#include "compiler/graph/infer/infer.h"
#include "compiler/graph/op_list.h"

namespace temper::importer {

Status Upgrader::RequireStatic(size_t required) const {
  for (size_t i = 0; i < required; ++i) {
    if (!Has(i)) return Error(fmt::format("input {} is missing", i));
  }
  for (int input : node.inputs) {
    if (input == graph::kNone || graph.type(input).IsStatic()) continue;
    return Refuse(fmt::format("the shape of '{}' is not known ({})", graph.value(input).name,
                              graph.type(input).ToString()));
  }
  return OkStatus();
}

Status Upgrader::FloatToInput(const std::string& name, size_t index) {
  const auto value = Take<float>(name);
  if (!value) return OkStatus();
  const auto dtype = Has(0) ? graph.type(node.inputs[0]).dtype : std::nullopt;
  if (!dtype) return Error("the type of its input is not known");
  SetInput(index, Number(name, *dtype, *value));
  return OkStatus();
}

Status Upgrader::DropOutputs(size_t first) {
  for (size_t i = first; i < node.outputs.size(); ++i) {
    if (node.used[i]) return Error(fmt::format("its output {} is not supported", i));
  }
  if (node.outputs.size() > first) node.outputs.resize(first);
  return OkStatus();
}

Result<int> Upgrader::Emit(std::string op, std::vector<int> inputs,
                           std::vector<std::string> outputs, graph::Attributes attributes) {
  const int id = graph.AddNode(std::move(op), std::move(inputs), std::move(outputs),
                               std::move(attributes), {node.name});
  TEMPER_RETURN_IF_ERROR(graph::CheckArity(graph.node(id)));
  results_ = graph.node(id).outputs;
  TEMPER_RETURN_IF_ERROR(graph::InferAndFoldSmall(graph, id));
  return results_.empty() ? graph::kNone : results_[0];
}

Result<std::vector<int>> Upgrader::EmitNode() {
  // The first result is always there, for what follows counts on it.
  std::vector<std::string> outputs = node.outputs;
  if (!outputs.empty()) outputs[0] = OutputName(0);
  TEMPER_RETURN_IF_ERROR(Emit(node.op, node.inputs, std::move(outputs), node.attributes).status());
  return results_;
}

}  // namespace temper::importer
