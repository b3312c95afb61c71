#include "compiler/graph/infer/infer.h"

#include <string_view>
#include <utility>

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

}  // namespace

Status InferNode(Graph& graph, int node_id) {
  const Node& node = graph.node(node_id);
  const InferFunction function = FindInfer(node);
  if (function == nullptr) return OkStatus();
  for (int input : node.inputs) {
    if (input != kNone && !graph.type(input).IsStatic()) return OkStatus();
  }
  InferContext context(graph, node_id);
  return function(context);
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
