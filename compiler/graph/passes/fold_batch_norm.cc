#include "compiler/graph/passes/fold_batch_norm.h"

#include <cmath>
#include <optional>
#include <vector>

#include "compiler/graph/infer/infer.h"
#include "compiler/graph/passes/channel_scale.h"

namespace temper::graph {
namespace {

// Nothing unless the node is a BatchNormalization of constant statistics.
std::optional<ChannelAffine> AffineOf(const Graph& graph, const Node& node) {
  if (!node.Is("BatchNormalization") || node.Output(0) == kNone ||
      !graph.type(node.outputs[0]).IsStatic()) {
    return std::nullopt;
  }
  for (size_t i = 1; i < 5; ++i) {
    if (graph.ConstantInput(node, i) == nullptr) return std::nullopt;
  }
  const std::vector<double> gamma = graph.ConstantInput(node, 1)->AsDoubles();
  const std::vector<double> beta = graph.ConstantInput(node, 2)->AsDoubles();
  const std::vector<double> mean = graph.ConstantInput(node, 3)->AsDoubles();
  const std::vector<double> var = graph.ConstantInput(node, 4)->AsDoubles();
  const double epsilon = node.Float("epsilon", 1e-5f);
  ChannelAffine affine;
  for (size_t i = 0; i < gamma.size(); ++i) {
    const double k = gamma[i] / std::sqrt(var[i] + epsilon);
    affine.scale.push_back(k);
    affine.shift.push_back(beta[i] - mean[i] * k);
  }
  return affine;
}

Status BecomeMulAdd(Graph& graph, int id, const ChannelAffine& affine) {
  const Node node = graph.node(id);
  const ValueType& type = graph.type(node.outputs[0]);
  // [C, 1, 1]: the channels against the second of the result's dimensions.
  Shape shape(type.dims.size() - 1, 1);
  shape[0] = static_cast<int64_t>(affine.scale.size());
  const std::string name = graph.value(node.outputs[0]).name;
  const int scale =
      graph.AddConstant(name + "/scale", MakeFromDoubles(*type.dtype, shape, affine.scale));
  const int shift =
      graph.AddConstant(name + "/shift", MakeFromDoubles(*type.dtype, shape, affine.shift));
  const int mul =
      graph.InsertBefore(id, "Mul", {node.inputs[0], scale}, {name + "/mul"}, {}, node.sources);
  TEMPER_RETURN_IF_ERROR(InferNode(graph, mul));
  graph.SetOp(id, "Add");
  graph.SetInputs(id, {graph.node(mul).outputs[0], shift});
  for (const auto& [attribute, value] : node.attributes) graph.RemoveAttribute(id, attribute);
  return OkStatus();
}

}  // namespace

Status RunFoldBatchNorm(Graph& graph) {
  ChannelFolder folder(graph);
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    folder.FoldChain(id, [&](const Node& node, int) { return AffineOf(graph, node); });
  }
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    const auto affine = AffineOf(graph, graph.node(id));
    if (affine) TEMPER_RETURN_IF_ERROR(BecomeMulAdd(graph, id, *affine));
  }
  return OkStatus();
}

}  // namespace temper::graph
