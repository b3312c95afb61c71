#include "compiler/graph/passes/fold_scales.h"

#include <optional>
#include <vector>

#include "compiler/graph/passes/channel_scale.h"

namespace temper::graph {
namespace {

// `tensor`, broadcast to `shape`, as one value for each index of dimension 1; nothing if it varies
// along another dimension or does not fit.
std::optional<std::vector<double>> PerChannel(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape.size() > shape.size() || !IsFloat(tensor.dtype)) return std::nullopt;
  const size_t lead = shape.size() - tensor.shape.size();
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] != 1 && lead + i != 1) return std::nullopt;
  }
  const int64_t channels = shape[1];
  if (tensor.size() != 1 && tensor.size() != channels) return std::nullopt;
  std::vector<double> values = tensor.AsDoubles();
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values[0]);
  return values;
}

// Folds node `id` into the producer of its operand, if it can.
void Fold(Graph& graph, int id) {
  const Node& node = graph.node(id);
  const bool add = node.Is("Add");
  const bool sub = node.Is("Sub");
  const bool mul = node.Is("Mul");
  const bool div = node.Is("Div");
  if (!add && !sub && !mul && !div) return;
  if (node.Output(0) == kNone) return;
  const size_t constant = graph.ConstantInput(node, 1) != nullptr ? 1 : 0;
  const Tensor* tensor = graph.ConstantInput(node, constant);
  const int x = node.Input(1 - constant);
  if (tensor == nullptr || x == kNone || (constant == 0 && div)) return;
  const Node* producer = graph.ProducerOf(x);
  if (producer == nullptr || !CanScaleChannels(graph, *producer)) return;
  if (!graph.type(node.outputs[0]).IsStatic() || graph.type(x) != graph.type(node.outputs[0])) {
    return;
  }
  const auto values = PerChannel(*tensor, graph.shape(x));
  if (!values) return;
  std::vector<double> scale(values->size(), 1);
  std::vector<double> shift(values->size(), 0);
  for (size_t i = 0; i < values->size(); ++i) {
    const double v = (*values)[i];
    if (add) shift[i] = v;
    if (sub) shift[i] = constant == 1 ? -v : v;
    if (sub && constant == 0) scale[i] = -1;
    if (mul) scale[i] = v;
    if (div) {
      if (v == 0) return;  // infinities and NaNs are left to the division
      scale[i] = 1 / v;
    }
  }
  FoldChannelScale(graph, producer->id, scale, shift);
  graph.AddSources(producer->id, node.sources);
  graph.ReplaceUses(node.outputs[0], x);
  graph.RemoveNode(id);
}

}  // namespace

Status RunFoldScales(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (int id : order) Fold(graph, id);
  return OkStatus();
}

}  // namespace temper::graph
