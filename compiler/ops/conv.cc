// Convolution of any spatial rank, with groups; channels first or last.
//
//   y[n, o.., c] = bias[c] + sum over k.., i of x[n, o * stride + k * dilation - pad.., i'] * w[c,
//   i, k..]
// where i' is i plus the first channel of c's group. The weight is read in ONNX's own order: a
// schedule packs it. Axes of extent 1 are left out of the reduction, so that a 1x1 convolution
// reduces over channels only and a depthwise one over the window only.
#include "compiler/ops/op_table.h"
#include "compiler/ops/product_sum.h"
#include "compiler/ops/window.h"

namespace temper::ops {

using tir::Expr;

Status BuildConv(Emitter& e) {
  const int x = e.Input(0), w = e.Input(1), y = e.Output(0);
  TEMPER_ASSIGN_OR_RETURN(const Window window, WindowOf(e.graph(), e.node()));
  const graph::Shape in = e.shape(x), weight = e.shape(w), out = e.shape(y);
  if (weight.size() != in.size()) return e.Refuse("a weight of another rank than its operand");
  const int channel_axis = e.ChannelAxis(static_cast<int>(in.size()));
  const size_t first = FirstSpatial(channel_axis);
  const int64_t group = e.node().Int("group", 1);
  const int64_t channels = in[channel_axis], results = out[channel_axis];
  const int64_t per_group = weight[1];
  if (!IsFloat(e.dtype(x)) && !IsInt(e.dtype(x))) return e.Refuse("operands that are not numbers");
  if (group < 1 || weight[0] != results || results % group != 0 || per_group * group != channels) {
    return InvalidArgument(e.node().Describe() + ": a weight of " + graph::ShapeToString(weight) +
                           " in " + std::to_string(group) + " groups does not fit an operand of " +
                           graph::ShapeToString(in));
  }
  if (*graph::ElementCount(in) == 0) return e.Refuse("its operand has no elements");
  const PaddedImage image = Pad(e, x, window, channel_axis, 0);

  // The reduction's axes: the window's, then the channels.
  graph::Shape reduced;
  std::vector<int> tap_axis(window.rank(), -1);
  for (size_t d = 0; d < window.rank(); ++d) {
    if (window.kernel[d] == 1) continue;
    tap_axis[d] = static_cast<int>(reduced.size());
    reduced.push_back(window.kernel[d]);
  }
  int input_axis = -1;
  if (per_group > 1 || reduced.empty()) {
    input_axis = static_cast<int>(reduced.size());
    reduced.push_back(per_group);
  }

  DefineProductSum(e, channel_axis, reduced, [&](const Indices& point, const Indices& r) {
    const Expr c = point[channel_axis];
    Indices taps;
    for (int axis : tap_axis) taps.push_back(axis < 0 ? Expr(0) : r[axis]);
    const Expr i = input_axis < 0 ? Expr(0) : r[input_axis];
    Expr channel = i;
    if (group > 1) {
      channel = tir::FloorDiv(c, Expr(results / group)) * Expr(per_group) + i;
    }
    Indices weight_indices{c, i};
    weight_indices.insert(weight_indices.end(), taps.begin(), taps.end());
    const auto position = std::span(point).subspan(first, window.rank());
    const Expr value = e.ReadTensor(image.tensor, WindowIndices(window, channel_axis, image,
                                                                point[0], channel, position, taps));
    return Factors{value, e.Read(w, weight_indices)};
  });
  return OkStatus();
}

}  // namespace temper::ops
