#include "compiler/partition/split_transposed.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "compiler/partition/result_view.h"
#include "compiler/te/program.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::Tensor;

struct Transposed {
  Shape in, out;                         // of the image, channels last
  std::vector<int64_t> kernel, strides;  // by spatial dimension
  std::vector<int64_t> pads;             // in front
  size_t rank() const { return kernel.size(); }
};

std::optional<Transposed> Describe(const Graph& graph, const Node& node) {
  if (node.Int("group", 1) != 1 || !HasConstantWeights(graph, node) || node.Has("auto_pad") ||
      node.Has("output_shape")) {
    return std::nullopt;
  }
  const Tensor& weight = *graph.ConstantInput(node, 1);
  Transposed t;
  t.in = graph.shape(node.inputs[0]);
  t.out = graph.shape(node.outputs[0]);
  const size_t rank = t.in.size();
  if (rank < 3 || rank > 5 || weight.shape.size() != rank || weight.shape[0] != t.in.back() ||
      weight.shape[1] != t.out.back()) {
    return std::nullopt;
  }
  const std::vector<int64_t> ones(rank - 2, 1), zeros(2 * (rank - 2), 0);
  t.kernel.assign(weight.shape.begin() + 2, weight.shape.end());
  t.strides = node.Ints("strides", ones);
  t.pads = node.Ints("pads", zeros);
  if (node.Ints("dilations", ones) != ones || t.strides.size() != rank - 2 ||
      t.pads.size() != zeros.size()) {
    return std::nullopt;
  }
  t.pads.resize(rank - 2);
  // Weights grow by the share of a window that a stride does not fill; positions are to stay small.
  int64_t grown = weight.size();
  for (size_t d = 0; d < t.rank(); ++d) {
    if (t.strides[d] < 1 || t.strides[d] > 64 || t.pads[d] < 0 || t.pads[d] > (1 << 20)) {
      return std::nullopt;
    }
    if (t.kernel[d] < t.strides[d]) grown *= t.strides[d];
  }
  if (grown > 4 * weight.size()) return std::nullopt;
  return t;
}

// The last tap and the channel are neighbours in memory: one axis.
//   [I, O, k.., l] -> [k.., I, l * O]
Tensor ProductWeight(const Tensor& weight) {
  const int64_t in = weight.shape[0], out = weight.shape[1], last = weight.shape.back();
  int64_t others = 1;
  Shape shape(weight.shape.begin() + 2, weight.shape.end() - 1);
  for (int64_t k : shape) others *= k;
  shape.push_back(in);
  shape.push_back(last * out);
  std::byte* data = nullptr;
  Tensor result = graph::MakeTensor(weight.dtype, shape, &data);
  const int64_t width = ByteSize(weight.dtype);
  for (int64_t k = 0; k < others; ++k) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t l = 0; l < last; ++l) {
        for (int64_t o = 0; o < out; ++o, data += width) {
          std::memcpy(data, weight.data + (((i * out + o) * others + k) * last + l) * width, width);
        }
      }
    }
  }
  return result;
}

// Windows that do not overlap and fill the result: a matrix product.
bool SplitIntoProduct(Graph& graph, const Node& node, const Transposed& t) {
  bool fills = t.strides == t.kernel;
  for (size_t d = 0; d < t.rank(); ++d) {
    fills = fills && t.pads[d] == 0 && t.out[1 + d] % t.kernel[d] == 0 &&
            t.out[1 + d] / t.kernel[d] == t.in[1 + d];
  }
  if (!fills) return false;
  const int64_t taps = t.kernel.back(), results = t.out.back();
  const auto split = [=](const Tensor& c) -> std::optional<Tensor> {
    if (c.size() != results || c.shape.empty() || c.shape.back() != results) return std::nullopt;
    std::byte* data = nullptr;
    Tensor wide = graph::MakeTensor(c.dtype, {taps * results}, &data);
    for (int64_t i = 0; i < taps; ++i, data += c.bytes()) std::memcpy(data, c.data, c.bytes());
    return wide;
  };
  // Labels: a batch, b.. positions, y the merged axis, z the channels summed over, p.. taps.
  Shape to{t.in[0]};
  std::string x = "a", w, y = "a";
  for (size_t d = 0; d < t.rank(); ++d) {
    const char position = static_cast<char>('b' + d), tap = static_cast<char>('p' + d);
    x += position;
    y += position;
    to.push_back(t.in[1 + d]);
    if (d + 1 == t.rank()) break;
    w += tap;
    y += tap;
    to.push_back(t.kernel[d]);
  }
  to.push_back(taps * results);
  const int weight = graph.AddConstant(graph.value(node.inputs[1]).name,
                                       ProductWeight(*graph.ConstantInput(node, 1)));
  const int value = InsertResult(graph, node, "Einsum", {node.inputs[0], weight},
                                 {{"equation", x + "z," + w + "zy->" + y + "y"}}, to);
  ReplaceByView(graph, node, value, {to, split});
  return true;
}

// Tap t of phase r reads position q + (r + pad) / stride - t for the result's position
// q * stride + r.
//   [I, O, k..] -> [r.., O, I, t..], k = (r + pad) % stride + stride * t, zero beyond the kernel
Tensor PhaseWeight(const Tensor& weight, const Transposed& t, const Shape& taps) {
  const size_t n = t.rank();
  const int64_t in = weight.shape[0], out = weight.shape[1];
  Shape shape = t.strides;
  shape.push_back(out);
  shape.push_back(in);
  shape.insert(shape.end(), taps.begin(), taps.end());
  std::byte* data = nullptr;
  Tensor result = graph::MakeTensor(weight.dtype, shape, &data);
  const int64_t width = ByteSize(weight.dtype), count = result.size();
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t e = 0; e < count; ++e, data += width) {
    int64_t from = at[n + 1] * out + at[n];
    bool inside = true;
    for (size_t d = 0; d < n; ++d) {
      const int64_t k = (at[d] + t.pads[d]) % t.strides[d] + t.strides[d] * at[n + 2 + d];
      inside = inside && k < t.kernel[d];
      from = from * t.kernel[d] + k;
    }
    if (inside) std::memcpy(data, weight.data + from * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

void SplitIntoPhases(Graph& graph, const Node& node, const Transposed& t) {
  const size_t n = t.rank();
  const int64_t results = t.out.back();
  Shape to{t.in[0]}, uncut{t.in[0]}, taps;
  std::vector<int64_t> window, pads(2 * n);
  for (size_t d = 0; d < n; ++d) {
    const int64_t s = t.strides[d], positions = (t.out[1 + d] + s - 1) / s;
    const int64_t count = (t.kernel[d] + s - 1) / s;
    const int64_t first = t.pads[d] / s - (count - 1), last = (s - 1 + t.pads[d]) / s;
    if (first > 0) return;  // the result begins behind the image's beginning
    taps.push_back(count);
    window.push_back(last - first + 1);
    pads[d] = -first;
    pads[n + d] = std::max<int64_t>(0, positions - 1 + last - (t.in[1 + d] - 1));
    to.push_back(positions);
    to.push_back(s);
    uncut.push_back(positions * s);
  }
  to.push_back(results);
  uncut.push_back(results);
  const auto elements = graph::ElementCount(to);
  if (!elements || *elements > te::kMaxElements) return;
  const auto by_channel = [=](const Tensor& c) -> std::optional<Tensor> {
    if (c.size() != results || c.shape.empty() || c.shape.back() != results) return std::nullopt;
    Tensor same = c;
    same.shape = {results};
    return same;
  };
  const int weight = graph.AddConstant(graph.value(node.inputs[1]).name,
                                       PhaseWeight(*graph.ConstantInput(node, 1), t, taps));
  const std::vector<int64_t> ones(n, 1);
  const int value = InsertResult(graph, node, "PhaseConv", {node.inputs[0], weight},
                                 {{"kernel_shape", window},
                                  {"pads", pads},
                                  {"strides", ones},
                                  {"dilations", ones},
                                  {"phases", t.strides},
                                  {"offsets", t.pads}},
                                 to, "temper");
  ReplaceByView(graph, node, value, {to, by_channel}, uncut);
}

}  // namespace

Status SplitTransposed(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    const Node node = graph.node(id);
    if (node.domain != "temper" || node.op != "ConvTranspose") continue;
    const auto transposed = Describe(graph, node);
    if (!transposed || SplitIntoProduct(graph, node, *transposed)) continue;
    SplitIntoPhases(graph, node, *transposed);
  }
  graph.RemoveDead();
  return OkStatus();
}

}  // namespace temper::partition
