#include "compiler/partition/result_view.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Shape;
using graph::Tensor;

// Operators that give one element for one, whatever the axes.
bool IsPlain(const Node& node) {
  static constexpr const char* kMore[] = {"Add", "Sub", "Mul",   "Div",   "Max",  "Min",
                                          "Pow", "Sum", "PRelu", "Where", "Clip", "Cast"};
  const ops::OpEntry* entry = ops::FindBuilder(node);
  if (!node.domain.empty() || entry == nullptr || entry->kind != ops::OpKind::kElementwise ||
      node.outputs.size() != 1 || node.Has("axis")) {
    return false;
  }
  return node.inputs.size() == 1 || std::any_of(std::begin(kMore), std::end(kMore),
                                                [&](const char* op) { return node.Is(op); });
}

int ReshapeBefore(Graph& graph, const Node& before, int value, const Shape& to) {
  const int shape = graph.AddConstant(graph.value(value).name + ".shape",
                                      graph::MakeInts({static_cast<int64_t>(to.size())}, to));
  const int reshaped = InsertResult(graph, before, "Reshape", {value, shape}, {}, to);
  graph.SetType(reshaped, graph::TensorType(*graph.type(value).dtype, to));
  return reshaped;
}

// The operands of an elementwise node: `value` for `old`, the others in the view's shape.
std::optional<std::vector<int>> Operands(Graph& graph, const Node& node, int old, int value,
                                         const View& view, bool cut) {
  std::vector<int> inputs = node.inputs;
  std::vector<std::optional<Tensor>> constants(inputs.size());
  const auto is_number = [&](size_t i) {
    const Tensor* tensor = graph.ConstantInput(node, i);
    return tensor != nullptr && tensor->size() == 1;
  };
  // First all that may fail.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone || inputs[i] == old || is_number(i)) continue;
    if (const Tensor* tensor = graph.ConstantInput(node, i)) {
      constants[i] = view.constant(*tensor);
      if (!constants[i]) return std::nullopt;
    } else if (cut || graph.shape(inputs[i]) != graph.shape(old)) {
      return std::nullopt;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone || is_number(i)) continue;
    if (inputs[i] == old) {
      inputs[i] = value;
    } else if (constants[i]) {
      inputs[i] = graph.AddConstant(graph.value(inputs[i]).name, *constants[i]);
    } else {
      inputs[i] = ReshapeBefore(graph, node, inputs[i], view.to);
    }
  }
  return inputs;
}

}  // namespace

int InsertResult(Graph& graph, const Node& before, const std::string& op, std::vector<int> inputs,
                 graph::Attributes attributes, const Shape& shape, const std::string& domain) {
  const int output = before.outputs[0];
  const int id = graph.InsertBefore(before.id, op, std::move(inputs), {graph.value(output).name},
                                    std::move(attributes), before.sources, domain);
  const int value = graph.node(id).outputs[0];
  graph.SetType(value, graph::TensorType(*graph.type(output).dtype, shape));
  return value;
}

bool HasConstantWeights(const Graph& graph, const Node& convolution) {
  return graph.ConstantInput(convolution, 1) != nullptr &&
         (!convolution.HasInput(2) || graph.ConstantInput(convolution, 2) != nullptr);
}

void ReplaceByView(Graph& graph, const Node& node, int value, const View& view,
                   const Shape& uncut) {
  int old = node.outputs[0];
  Node end = node;
  if (node.HasInput(2)) {
    const int bias = graph.AddConstant(graph.value(node.inputs[2]).name,
                                       *view.constant(*graph.ConstantInput(node, 2)));
    value = InsertResult(graph, node, "Add", {value, bias}, {}, view.to);
  }
  const bool cut = !uncut.empty() && uncut != graph.shape(old);
  while (const graph::Use* use = graph.OnlyUse(old)) {
    const Node next = graph.node(use->node);
    if (!IsPlain(next) || graph.shape(next.outputs[0]) != graph.shape(old)) break;
    const auto inputs = Operands(graph, next, old, value, view, cut);
    if (!inputs) break;
    old = next.outputs[0];
    value = InsertResult(graph, next, next.op, *inputs, next.attributes, view.to);
    end = next;
  }
  const Shape shape = graph.shape(old);
  value = ReshapeBefore(graph, end, value, cut ? uncut : shape);
  if (cut) {
    const std::vector<int64_t> starts(shape.size(), 0);
    const int from =
        graph.AddConstant(graph.value(old).name + ".starts",
                          graph::MakeInts({static_cast<int64_t>(starts.size())}, starts));
    value = InsertResult(graph, end, "Slice", {value, from}, {}, shape);
  }
  graph.ReplaceUses(old, value);
}

}  // namespace temper::partition
