#include "compiler/graph/passes/remove_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compiler/graph/passes/fold_constants.h"

namespace temper::graph {
namespace {

bool SameType(const Graph& graph, int a, int b) {
  return graph.type(a).IsStatic() && graph.type(a) == graph.type(b);
}

bool AllEqual(const Tensor* tensor, double value) {
  if (tensor == nullptr || tensor->size() > 4096) return false;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (tensor->DoubleAt(i) != value) return false;
  }
  return true;
}

// Transpose whose dimensions other than 1 keep their order.
bool MovesOnlyOnes(const Graph& graph, const Node& node) {
  if (!graph.type(node.inputs[0]).IsStatic()) return false;
  const Shape shape = graph.shape(node.inputs[0]);
  const std::vector<int64_t> perm = node.Ints("perm");
  if (perm.size() != shape.size()) return false;
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The input that output 0 of the node equals, or kNone.
int EqualInput(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.Output(0) == kNone) return kNone;
  const int x = node.inputs[0];
  const std::string& op = node.op;
  if (op == "Identity" || op == "Dropout") return x;
  const bool same = x != kNone && SameType(graph, x, node.outputs[0]);
  if (op == "Cast" || op == "Reshape" || op == "Expand" || op == "Tile") {
    return same ? x : kNone;
  }
  // What is cut off at one end may be added at the other.
  if (op == "Pad") return same && AllEqual(graph.ConstantInput(node, 1), 0) ? x : kNone;
  if (op == "Transpose") return same && MovesOnlyOnes(graph, node) ? x : kNone;
  if (op == "Slice") {
    // Nothing cut off, and nothing reversed.
    const Tensor* steps = graph.ConstantInput(node, 4);
    return same && (!node.HasInput(4) || AllEqual(steps, 1)) ? x : kNone;
  }
  if (op == "Concat" || op == "Max" || op == "Min" || op == "Sum") {
    return node.inputs.size() == 1 ? x : kNone;
  }
  if (op == "Clip") return node.HasInput(1) || node.HasInput(2) ? kNone : x;
  if (op == "ReduceSum" || op == "ReduceMean" || op == "ReduceMax" || op == "ReduceMin" ||
      op == "ReduceProd") {
    const Tensor* axes = graph.ConstantInput(node, 1);
    return same && axes != nullptr && axes->size() == 0 ? x : kNone;
  }
  if (op == "Add" || op == "Mul" || op == "Sub" || op == "Div") {
    const double neutral = op == "Add" || op == "Sub" ? 0 : 1;
    if (same && AllEqual(graph.ConstantInput(node, 1), neutral)) return x;
    const int y = node.Input(1);
    const bool commutes = op == "Add" || op == "Mul";
    if (commutes && y != kNone && SameType(graph, y, node.outputs[0]) &&
        AllEqual(graph.ConstantInput(node, 0), neutral)) {
      return y;
    }
  }
  return kNone;
}

// Names of a node that goes: to the node that makes its operand, or to one that reads its result.
void HandOnSources(Graph& graph, int id, int replacement) {
  const std::vector<Use>& uses = graph.value(graph.node(id).outputs[0]).uses;
  if (const Node* producer = graph.ProducerOf(replacement)) {
    graph.MoveSources(id, producer->id, false);
  } else if (!uses.empty()) {
    graph.MoveSources(id, uses[0].node, true);
  }
}

Status RemoveMask(Graph& graph, int mask, int64_t& bytes_left) {
  // At inference nothing is dropped.
  if (mask == kNone) return OkStatus();
  const Value& value = graph.value(mask);
  if (value.uses.empty() && !graph.IsOutput(mask)) return OkStatus();
  if (!value.type.IsStatic()) return OkStatus();
  bytes_left -= *ElementCount(value.type.StaticShape());
  if (bytes_left < 0) {
    return Unimplemented(fmt::format("the mask '{}' is too large", value.name));
  }
  std::byte* data = nullptr;
  Tensor ones = MakeTensor(DType::kBool, value.type.StaticShape(), &data);
  std::fill_n(data, static_cast<size_t>(ones.bytes()), std::byte{1});
  graph.MakeConstant(mask, std::move(ones));
  return OkStatus();
}

void MergeMoves(Graph& graph, int id) {
  const Node& node = graph.node(id);
  if (!node.Is("Reshape") && !node.Is("Transpose")) return;
  const Node* before = graph.ProducerOf(node.inputs[0]);
  if (before != nullptr && before->domain.empty() && before->op == node.op) {
    if (node.Is("Transpose")) {
      const std::vector<int64_t> inner = before->Ints("perm");
      std::vector<int64_t> perm = node.Ints("perm");
      if (inner.empty() || inner.size() != perm.size()) return;
      for (int64_t& axis : perm) axis = inner[axis];
      graph.SetAttribute(id, "perm", perm);
    }
    const int before_id = before->id;
    graph.SetInput(id, 0, before->inputs[0]);
    const int middle = graph.node(before_id).outputs[0];
    if (graph.value(middle).uses.empty() && !graph.IsOutput(middle)) {
      graph.MoveSources(before_id, id, true);
      graph.RemoveNode(before_id);
    }
  }
  if (graph.node(id).Is("Transpose") && MovesOnlyOnes(graph, graph.node(id)) &&
      !SameType(graph, graph.node(id).inputs[0], graph.node(id).outputs[0])) {
    const Shape shape = graph.shape(graph.node(id).outputs[0]);
    const std::string name = graph.value(graph.node(id).outputs[0]).name + "/shape";
    graph.SetInput(id, 1,
                   graph.AddConstant(name, MakeInts({static_cast<int64_t>(shape.size())}, shape)));
    graph.SetOp(id, "Reshape");
    graph.RemoveAttribute(id, "perm");
    MergeMoves(graph, id);
  }
}

}  // namespace

Status RunRemoveIdentity(Graph& graph) {
  int64_t mask_bytes = kMaxGrowthBytes;
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    MergeMoves(graph, id);
    const Node& node = graph.node(id);
    const int equal = EqualInput(graph, node);
    if (equal == kNone) continue;
    if (node.Is("Dropout")) TEMPER_RETURN_IF_ERROR(RemoveMask(graph, node.Output(1), mask_bytes));
    if (node.Output(1) != kNone &&
        (!graph.value(node.outputs[1]).uses.empty() || graph.IsOutput(node.outputs[1]))) {
      continue;  // a second result is still needed
    }
    HandOnSources(graph, id, equal);
    graph.ReplaceUses(node.outputs[0], equal);
    graph.RemoveNode(id);
  }
  return OkStatus();
}

}  // namespace temper::graph
