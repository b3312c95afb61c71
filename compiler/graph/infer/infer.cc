#include "compiler/graph/infer/infer.h"

#include <string_view>
#include <utility>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/eval/eval.h"
#include "compiler/graph/infer/functions.h"
#include "compiler/graph/outside_op.h"

namespace temper::graph {
namespace {

using InferFunction = Status (*)(InferContext&);

// Shape computations are a few dimensions long. Larger operands are left to fold_constants, which
// bounds the work in all.
constexpr int64_t kSmallBytes = 4096;

InferFunction FindInfer(const Node& node) {
  static constexpr std::pair<std::string_view, InferFunction> kFunctions[] = {
#define TEMPER_OP(name, min_inputs, max_inputs, min_outputs, max_outputs, infer, eval) \
  {#name, Infer##infer},
#include "compiler/graph/op_list.inc"
#undef TEMPER_OP
  };
  if (node.outside != nullptr) return node.outside->infer;
  if (!node.domain.empty()) return nullptr;
  for (const auto& [name, function] : kFunctions) {
    if (name == node.op) return function;
  }
  return nullptr;
}

// Of a node whose results are memory with room for the largest.
Status SetRoom(Graph& graph, const Node& node) {
  const std::vector<int64_t> room = node.Ints(kRoom);
  const int extents = node.outputs.back();
  if (room.size() != node.outputs.size() || node.Output(0) == kNone) {
    return Internal(node.Describe() + ": room is not said for each output");
  }
  if (extents != kNone) {
    const auto rank = static_cast<int64_t>(graph.type(node.outputs[0]).dims.size());
    graph.SetType(extents, TensorType(DType::kInt64, {rank}));
  }
  for (size_t i = 0; i < room.size(); ++i) {
    const int value = node.outputs[i];
    if (value == kNone || room[i] < 0) continue;
    graph.SetType(value, TensorType(*graph.type(value).dtype, {room[i]}));
  }
  return OkStatus();
}

}  // namespace

bool OpensExtents(const Node& node) {
  return node.Is("NonZero") || node.Is("NonMaxSuppression") || node.Is("Compress") ||
         node.Is("Unique");
}

Status InferNode(Graph& graph, int node_id) {
  const Node& node = graph.node(node_id);
  const InferFunction function = FindInfer(node);
  if (function == nullptr) return OkStatus();
  for (int input : node.inputs) {
    if (input != kNone && !graph.type(input).IsStatic()) return OkStatus();
  }
  InferContext context(graph, node_id);
  TEMPER_RETURN_IF_ERROR(function(context));
  return OpensExtents(node) && node.Has(kRoom) ? SetRoom(graph, node) : OkStatus();
}

Status InferAndFoldSmall(Graph& graph, int node_id) {
  TEMPER_RETURN_IF_ERROR(InferNode(graph, node_id));
  const Node& node = graph.node(node_id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* tensor = graph.ConstantInput(node, i);
    if (tensor != nullptr && tensor->bytes() > kSmallBytes) return OkStatus();
  }
  return FoldNode(graph, node_id, kSmallBytes).status();
}

}  // namespace temper::graph
