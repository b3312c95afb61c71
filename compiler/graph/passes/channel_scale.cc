#include "compiler/graph/passes/channel_scale.h"

#include <cstring>

namespace temper::graph {
namespace {

// Weights as [outer, channels, inner], group by group: element (g, o, c, i) belongs to output
// channel g * channels + c.
struct Layout {
  int64_t groups = 1;
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};

Layout LayoutOf(const Node& node, const Shape& w) {
  const auto product = [&](size_t first) {
    int64_t p = 1;
    for (size_t i = first; i < w.size(); ++i) p *= w[i];
    return p;
  };
  if (node.Is("Conv")) return {1, 1, w[0], product(1)};
  if (node.Is("ConvTranspose")) {
    const int64_t groups = node.Int("group", 1);
    return {groups, w[0] / groups, w[1], product(2)};
  }
  return node.Int("transB", 0) != 0 ? Layout{1, 1, w[0], w[1]} : Layout{1, w[0], w[1], 1};
}

Tensor ScaleWeights(const Tensor& w, const Layout& layout, const std::vector<double>& scale,
                    double factor) {
  std::byte* data = nullptr;
  Tensor result = MakeTensor(w.dtype, w.shape, &data);
  const int64_t size = ByteSize(w.dtype);
  int64_t at = 0;  // element
  for (int64_t g = 0; g < layout.groups; ++g) {
    for (int64_t o = 0; o < layout.outer; ++o) {
      for (int64_t c = 0; c < layout.channels; ++c) {
        const double s = scale[g * layout.channels + c] * factor;
        if (w.dtype == DType::kFloat32) {
          const float narrow = static_cast<float>(s);
          for (int64_t i = 0; i < layout.inner; ++i, ++at) {
            float value = 0;
            std::memcpy(&value, w.data + at * 4, 4);
            value *= narrow;
            std::memcpy(data + at * 4, &value, 4);
          }
        } else {
          for (int64_t i = 0; i < layout.inner; ++i, ++at) {
            StoreDouble(w.dtype, w.DoubleAt(at) * s, data + at * size);
          }
        }
      }
    }
  }
  return result;
}

// Gemm's C may be a scalar, [N], [1,N]: one value for each column. Empty: it varies by row.
bool IsPerChannel(const Tensor& bias, int64_t channels) {
  return bias.size() == 1 ||
         (bias.size() == channels && !bias.shape.empty() && bias.shape.back() == channels);
}

// Whether `node` is one whose weights and bias can be rewritten.
bool CanScaleChannels(const Graph& graph, const Node& node) {
  if (!node.Is("Conv") && !node.Is("ConvTranspose") && !node.Is("Gemm")) return false;
  const Tensor* weights = graph.ConstantInput(node, 1);
  if (weights == nullptr || !IsFloat(weights->dtype)) return false;
  const int y = node.Output(0);
  if (y == kNone || !graph.type(y).IsStatic()) return false;
  if (!node.HasInput(2)) return true;
  const Tensor* bias = graph.ConstantInput(node, 2);
  return bias != nullptr && IsPerChannel(*bias, graph.shape(y)[1]);
}

void Rewrite(Graph& graph, int node_id, const ChannelAffine& affine) {
  const Node node = graph.node(node_id);
  const size_t channels = static_cast<size_t>(graph.shape(node.outputs[0])[1]);
  TEMPER_CHECK(affine.scale.size() == channels && affine.shift.size() == channels);
  const Tensor weights = *graph.ConstantInput(node, 1);
  const std::string name = graph.value(node.inputs[1]).name;
  const bool gemm = node.Is("Gemm");
  const double alpha = gemm ? node.Float("alpha", 1) : 1;
  const double beta = gemm ? node.Float("beta", 1) : 1;

  bool scaled = alpha != 1;
  for (double s : affine.scale) scaled |= s != 1;
  if (scaled) {
    graph.SetInput(
        node_id, 1,
        graph.AddConstant(name + "/scaled", ScaleWeights(weights, LayoutOf(node, weights.shape),
                                                         affine.scale, alpha)));
  }
  std::vector<double> bias(channels, 0);
  std::string bias_name = name + "/bias";
  if (node.HasInput(2)) {
    const std::vector<double> old = graph.ConstantInput(node, 2)->AsDoubles();
    for (size_t i = 0; i < channels; ++i) bias[i] = beta * old[old.size() == 1 ? 0 : i];
    bias_name = graph.value(node.inputs[2]).name + "/scaled";
  }
  bool any = node.HasInput(2);
  for (size_t i = 0; i < channels; ++i) {
    bias[i] = bias[i] * affine.scale[i] + affine.shift[i];
    any |= bias[i] != 0;
  }
  if (any) {
    graph.SetInput(
        node_id, 2,
        graph.AddConstant(bias_name,
                          MakeFromDoubles(weights.dtype, {static_cast<int64_t>(channels)}, bias)));
  }
  if (gemm) {
    graph.SetAttribute(node_id, "alpha", 1.0f);
    graph.SetAttribute(node_id, "beta", 1.0f);
  }
}

}  // namespace

ChannelFolder::ChannelFolder(Graph& graph) : graph_(graph), bytes_left_(int64_t{1} << 30) {
  for (int id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).IsConstant()) bytes_left_ += 2 * graph.value(id).constant->bytes();
  }
}

void ChannelFolder::FoldChain(int producer, const AffineOf& affine_of) {
  if (!CanScaleChannels(graph_, graph_.node(producer))) return;
  const int64_t bytes = graph_.ConstantInput(graph_.node(producer), 1)->bytes();
  if (bytes > bytes_left_) return;
  const int y = graph_.node(producer).outputs[0];
  std::optional<ChannelAffine> all;
  while (const Use* use = graph_.OnlyUse(y)) {
    const int next = use->node;
    const int result = graph_.node(next).Output(0);
    if (result == kNone || graph_.type(result) != graph_.type(y)) break;
    std::optional<ChannelAffine> affine = affine_of(graph_.node(next), y);
    if (!affine) break;
    if (all) {
      for (size_t c = 0; c < affine->scale.size(); ++c) {
        affine->shift[c] += all->shift[c] * affine->scale[c];
        affine->scale[c] *= all->scale[c];
      }
    }
    all = std::move(affine);
    graph_.MoveSources(next, producer, false);
    graph_.ReplaceUses(result, y);
    graph_.RemoveNode(next);
  }
  if (!all) return;
  bytes_left_ -= bytes;
  Rewrite(graph_, producer, *all);
}

}  // namespace temper::graph
