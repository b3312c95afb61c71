#include "compiler/ops/window.h"

#include <limits>

namespace temper::ops {

using tir::Expr;

Result<Window> WindowOf(const graph::Graph& graph, const graph::Node& node) {
  Window w;
  const graph::Shape in = graph.shape(node.inputs[0]);
  const graph::Shape out = graph.shape(node.outputs[0]);
  // PhaseConv's result has an axis more behind each position.
  const size_t step = node.op == "PhaseConv" ? 2 : 1;
  const size_t more = step == 2 ? in.size() - 2 : 0;
  if (in.size() < 3 || out.size() != in.size() + more) {
    return InvalidArgument(node.Describe() + ": the operand needs at least 3 dimensions, has " +
                           graph::ShapeToString(in));
  }
  const size_t n = in.size() - 2;
  const size_t first = FirstSpatial(node.domain.empty() ? 1 : static_cast<int>(in.size()) - 1);
  w.input.assign(in.begin() + first, in.begin() + first + n);
  for (size_t d = 0; d < n; ++d) w.output.push_back(out[first + d * step]);
  if (node.Has("kernel_shape")) {
    w.kernel = node.Ints("kernel_shape");
  } else if (node.inputs.size() > 1) {
    const graph::Shape weight = graph.shape(node.inputs[1]);
    if (weight.size() == n + 2) w.kernel.assign(weight.begin() + 2, weight.end());
  }
  const std::vector<int64_t> ones(n, 1);
  w.strides = node.Ints("strides", ones);
  w.dilations = node.Ints("dilations", ones);
  std::vector<int64_t> pads = node.Ints("pads", std::vector<int64_t>(2 * n, 0));
  if (w.kernel.size() != n || w.strides.size() != n || w.dilations.size() != n ||
      pads.size() != 2 * n) {
    return InvalidArgument(node.Describe() +
                           ": kernel_shape, strides, dilations or pads do not "
                           "have as many entries as the operand has spatial dimensions");
  }
  constexpr int64_t kMost = int64_t{1} << 24;
  for (size_t d = 0; d < n; ++d) {
    for (int64_t v : {w.kernel[d], w.strides[d], w.dilations[d]}) {
      if (v < 1 || v > kMost) {
        return InvalidArgument(node.Describe() + ": a window of extent, stride or dilation " +
                               std::to_string(v) + " is not possible");
      }
    }
    for (int64_t v : {pads[d], pads[d + n]}) {
      if (v < 0 || v > kMost) {
        return InvalidArgument(node.Describe() + ": padding of " + std::to_string(v) +
                               " is not supported");
      }
    }
  }
  const std::string auto_pad = node.String("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    pads.assign(2 * n, 0);
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    for (size_t d = 0; d < n; ++d) {
      const int64_t reach = (w.output[d] - 1) * w.strides[d] + (w.kernel[d] - 1) * w.dilations[d];
      const int64_t total = std::max<int64_t>(0, reach + 1 - w.input[d]);
      pads[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + n] = total - pads[d];
    }
  }
  w.pads_before.assign(pads.begin(), pads.begin() + n);
  w.pads_after.assign(pads.begin() + n, pads.end());
  return w;
}

namespace {

// `left`: how many values are looked at yet; concatenations of one another would make it many.
bool IsNonNegativeWithin(const graph::Graph& graph, int value, int depth, int& left) {
  if (value == graph::kNone || depth > 8 || --left < 0) return false;
  const graph::Value& v = graph.value(value);
  const graph::Node* node = graph.ProducerOf(value);
  if (node == nullptr) return false;
  for (const char* op : {"Relu", "Sigmoid", "HardSigmoid", "Exp", "Softmax", "Abs", "Softplus"}) {
    if (node->Is(op)) return true;
  }
  if (node->Is("Clip")) {
    const graph::Tensor* low = graph.ConstantInput(*node, 1);
    return low != nullptr && low->size() == 1 && low->AsDoubles()[0] >= 0;
  }
  bool passes = node->op == "MaxPool" || node->op == "AveragePool";
  for (const char* op : {"Transpose", "Reshape", "Concat", "Identity", "Slice"}) {
    passes = passes || node->Is(op);
  }
  if (!passes || v.producer_output != 0) return false;
  const size_t data = node->Is("Concat") ? node->inputs.size() : 1;
  for (size_t i = 0; i < data; ++i) {
    if (!IsNonNegativeWithin(graph, node->inputs[i], depth + 1, left)) return false;
  }
  return true;
}

}  // namespace

bool IsNonNegative(const graph::Graph& graph, int value) {
  int left = 4096;
  return IsNonNegativeWithin(graph, value, 0, left);
}

Halo WantedHalo(const graph::Graph& graph, const graph::Node& node) {
  const bool windowed = node.op == "Conv" || node.op == "PhaseConv" || node.op == "AveragePool" ||
                        node.op == "MaxPool";
  if (!windowed || node.domain != "temper") return {};
  if (node.op == "MaxPool" && !IsNonNegative(graph, node.inputs[0])) return {};
  auto window = WindowOf(graph, node);
  if (!window.ok() || !window->ReadsOutside()) return {};
  Halo halo;
  halo.before.assign(window->rank() + 2, 0);
  halo.after = halo.before;
  for (size_t d = 0; d < window->rank(); ++d) {
    halo.before[d + 1] = window->Before(d);
    halo.after[d + 1] = window->After(d);
  }
  return halo;
}

bool HaloHolds(Emitter& e, int value, const Window& window, int channel_axis) {
  const te::Tensor& source = e.program().tensors[e.TensorOf(value)];
  bool holds = !source.halo_before.empty();
  for (size_t d = 0; holds && d < window.rank(); ++d) {
    const size_t axis = FirstSpatial(channel_axis) + d;
    holds = source.halo_before[axis] >= window.Before(d) &&
            source.halo_after[axis] >= window.After(d) && axis + 1 < source.shape.size();
  }
  return holds;
}

PaddedImage Pad(Emitter& e, int value, const Window& window, int channel_axis, double fill) {
  PaddedImage image;
  image.tensor = e.TensorOf(value);
  const te::Tensor source = e.program().tensors[image.tensor];
  const size_t rank = source.shape.size();
  image.offset.assign(rank, 0);
  if (!window.ReadsOutside()) return image;
  const size_t first = FirstSpatial(channel_axis);
  if (fill == 0 && HaloHolds(e, value, window, channel_axis)) return image;
  graph::Shape padded = source.shape;
  for (size_t d = 0; d < window.rank(); ++d) {
    padded[first + d] += window.Before(d) + window.After(d);
    image.offset[first + d] = window.Before(d);
  }
  const bool rows_last = first + window.rank() == rank;
  if (rows_last && window.kernel.back() > 1) image.phases = window.strides.back();
  const int64_t phases = image.phases;
  if (phases > 1) {
    padded.back() = (padded.back() + phases - 1) / phases;
    padded.insert(padded.end() - 1, phases);
  }
  image.tensor = e.AddPoints(padded, ".pad", [&](const Indices& point) {
    Indices inner;
    Expr inside;
    for (size_t axis = 0; axis < rank; ++axis) {
      const bool phased = phases > 1 && axis + 1 == rank;
      const Expr at = phased ? point[axis + 1] * Expr(phases) + point[axis] : point[axis];
      inner.push_back(at - Expr(image.offset[axis]));
      if (!phased && padded[axis] == source.shape[axis]) continue;
      const Expr here =
          tir::And(tir::Le(Expr(0), inner[axis]), tir::Lt(inner[axis], Expr(source.shape[axis])));
      inside = inside ? tir::And(inside, here) : here;
    }
    return tir::Select(inside, e.Read(value, inner), tir::Number(source.dtype, fill));
  });
  return image;
}

Indices WindowIndices(const Window& window, int channel_axis, const PaddedImage& image,
                      const Expr& batch, const Expr& channel, std::span<const Expr> position,
                      std::span<const Expr> tap) {
  Indices indices(window.rank() + 2);
  const size_t first = FirstSpatial(channel_axis);
  indices[0] = batch;
  indices[channel_axis] = channel;
  for (size_t d = 0; d < window.rank(); ++d) {
    const Expr reach = tap[d] * Expr(window.dilations[d]);
    const int64_t before = image.offset[first + d] - window.Before(d);
    if (image.phases > 1 && d + 1 == window.rank()) {
      // The first tap of the first window is element 0 of phase 0.
      indices[first + d] = tir::FloorMod(reach, Expr(image.phases));
      indices.push_back(position[d] + tir::FloorDiv(reach, Expr(image.phases)));
    } else {
      indices[first + d] = position[d] * Expr(window.strides[d]) + reach + Expr(before);
    }
  }
  return indices;
}

}  // namespace temper::ops
