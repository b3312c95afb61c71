#include "compiler/graph/eval/eval.h"

#include <map>
#include <string_view>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/eval/context.h"
#include "compiler/graph/outside_op.h"

namespace temper::graph {
namespace {

EvalFunction FindEval(const Node& node) {
  static constexpr std::pair<std::string_view, EvalFunction> kFunctions[] = {
#define TEMPER_OP(name, min_inputs, max_inputs, min_outputs, max_outputs, infer, eval) \
  {#name, Eval##eval},
#include "compiler/graph/op_list.inc"
#undef TEMPER_OP
  };
  if (node.outside != nullptr && node.outside->eval != nullptr) return node.outside->eval;
  if (!node.domain.empty()) return EvalNone;
  for (const auto& [name, function] : kFunctions) {
    if (name == node.op) return function;
  }
  return EvalNone;
}

}  // namespace

Result<std::optional<int64_t>> FoldNode(Graph& graph, int node_id, int64_t max_bytes) {
  const std::optional<int64_t> not_folded;
  const Node& node = graph.node(node_id);
  const bool type_only = node.Is("Shape") || node.Is("Size") || node.Is("EyeLike");
  std::vector<const Tensor*> in;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    in.push_back(graph.ConstantInput(node, i));
    if (!node.HasInput(i)) continue;
    if (type_only ? !graph.type(node.inputs[i]).IsStatic() : in.back() == nullptr) {
      return not_folded;
    }
  }
  if (node.Has(kRoom)) return not_folded;  // its results are no tensors of their own shape
  const EvalFunction function = FindEval(node);
  if (function == EvalNone) return not_folded;
  std::vector<ValueType> out_types;
  int64_t bytes = 0;
  const bool shares = function == EvalReshape;  // no new memory
  for (int output : node.outputs) {
    out_types.push_back(output == kNone ? ValueType() : graph.type(output));
    if (output == kNone) continue;
    if (!out_types.back().IsStatic()) return not_folded;
    if (shares) continue;
    bytes += *ByteCount(*out_types.back().dtype, out_types.back().StaticShape());
    if (bytes > max_bytes) return not_folded;
  }
  const InferContext types(graph, node_id);
  EvalContext context{node, types, std::move(in), std::move(out_types), {}};
  context.out.resize(node.outputs.size());
  TEMPER_ASSIGN_OR_RETURN(const bool done, function(context));
  if (!done) return not_folded;
  const std::vector<int> outputs = node.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != kNone) graph.MakeConstant(outputs[i], std::move(context.out[i]));
  }
  graph.RemoveNode(node_id);
  return std::optional<int64_t>(bytes);
}

}  // namespace temper::graph
