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

// What an Add, Sub, Mul or Div of `x` and a constant does to each channel.
std::optional<ChannelAffine> AffineOf(const Graph& graph, const Node& node, int x) {
  const bool add = node.Is("Add");
  const bool sub = node.Is("Sub");
  const bool mul = node.Is("Mul");
  const bool div = node.Is("Div");
  if (!add && !sub && !mul && !div) return std::nullopt;
  const size_t constant = node.inputs[0] == x ? 1 : 0;
  const Tensor* tensor = graph.ConstantInput(node, constant);
  if (tensor == nullptr || (constant == 0 && div)) return std::nullopt;
  const auto values = PerChannel(*tensor, graph.shape(x));
  if (!values) return std::nullopt;
  ChannelAffine affine{std::vector<double>(values->size(), 1),
                       std::vector<double>(values->size(), 0)};
  for (size_t i = 0; i < values->size(); ++i) {
    const double v = (*values)[i];
    if (add) affine.shift[i] = v;
    if (sub) affine.shift[i] = constant == 1 ? -v : v;
    if (sub && constant == 0) affine.scale[i] = -1;
    if (mul) affine.scale[i] = v;
    if (div) {
      if (v == 0) return std::nullopt;  // infinities and NaNs are left to the division
      affine.scale[i] = 1 / v;
    }
  }
  return affine;
}

}  // namespace

Status RunFoldScales(Graph& graph) {
  ChannelFolder folder(graph);
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    folder.FoldChain(id, [&](const Node& node, int x) { return AffineOf(graph, node, x); });
  }
  return OkStatus();
}

}  // namespace temper::graph
