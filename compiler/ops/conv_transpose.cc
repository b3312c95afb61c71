// Transposed convolution, gathered from the side of the result:
//
//   y[n, o, c] = bias[c] + sum over k, i of x[n, (o + pad - k * dilation) / stride, i'] * w[i', c',
//   k]
// over those k for which the division is exact and inside the operand.
#include "compiler/ops/op_table.h"
#include "compiler/ops/product_sum.h"
#include "compiler/ops/window.h"

namespace temper::ops {

using tir::Expr;

Status BuildConvTranspose(Emitter& e) {
  const int x = e.Input(0), w = e.Input(1), y = e.Output(0);
  const graph::Shape in = e.shape(x), weight = e.shape(w), out = e.shape(y);
  if (in.size() < 3 || weight.size() != in.size()) return e.Refuse("operands of these ranks");
  const int channel_axis = e.ChannelAxis(static_cast<int>(in.size()));
  const size_t first = FirstSpatial(channel_axis), n = in.size() - 2;
  const int64_t group = e.node().Int("group", 1);
  const int64_t channels = in[channel_axis], results = out[channel_axis];
  if (group < 1 || channels % group != 0 || weight[0] != channels || weight[1] * group != results) {
    return InvalidArgument(e.node().Describe() + ": a weight of " + graph::ShapeToString(weight) +
                           " does not fit an operand of " + graph::ShapeToString(in));
  }
  if (*graph::ElementCount(in) == 0) return e.Refuse("its operand has no elements");
  const std::vector<int64_t> ones(n, 1);
  const auto strides = e.node().Ints("strides", ones);
  const auto dilations = e.node().Ints("dilations", ones);
  auto pads = e.node().Ints("pads", std::vector<int64_t>(2 * n, 0));
  if (strides.size() != n || dilations.size() != n || pads.size() != 2 * n) {
    return e.Refuse("strides, dilations or pads of another rank than its operand");
  }
  const std::string auto_pad = e.node().String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" || e.node().Has("output_shape")) {
    // Padding follows from the shapes; SAME_UPPER has the smaller half in front.
    const auto extra = e.node().Ints("output_padding", std::vector<int64_t>(n, 0));
    for (size_t d = 0; d < n; ++d) {
      const int64_t full =
          strides[d] * (in[first + d] - 1) + extra[d] + (weight[2 + d] - 1) * dilations[d] + 1;
      const int64_t total = std::max<int64_t>(0, full - out[first + d]);
      pads[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
  }
  const int64_t per_group = channels / group;
  graph::Shape reduced(weight.begin() + 2, weight.end());
  reduced.push_back(per_group);
  DefineProductSum(e, channel_axis, reduced, [&](const Indices& point, const Indices& r) {
    const Expr c = point[channel_axis];
    const Expr group_of = tir::FloorDiv(c, Expr(weight[1]));
    const Expr channel = group > 1 ? group_of * Expr(per_group) + r[n] : r[n];
    Indices image(in.size());
    Indices weights{channel, group > 1 ? tir::FloorMod(c, Expr(weight[1])) : c};
    image[0] = point[0];
    image[channel_axis] = channel;
    Expr inside = tir::Bool(true);
    auto require = [&](const Expr& condition) {
      inside = inside->IsInt(1) ? condition : tir::And(inside, condition);
    };
    for (size_t d = 0; d < n; ++d) {
      const Expr at = point[first + d] + Expr(pads[d]) - r[d] * Expr(dilations[d]);
      image[first + d] = tir::FloorDiv(at, Expr(strides[d]));
      if (strides[d] > 1) require(tir::Eq(tir::FloorMod(at, Expr(strides[d])), Expr(0)));
      require(tir::Le(Expr(0), at));
      require(tir::Lt(image[first + d], Expr(in[first + d])));
      weights.push_back(r[d]);
    }
    const Expr value = e.Read(x, image);
    return Factors{value, e.Read(w, weights), inside};
  });
  return OkStatus();
}

// See op_table.h. Each phase's taps are a dense window, so that no product is wasted on the zeros
// between the operand's elements.
Status BuildPhaseConv(Emitter& e) {
  const int x = e.Input(0), w = e.Input(1);
  TEMPER_ASSIGN_OR_RETURN(const Window window, WindowOf(e.graph(), e.node()));
  const graph::Shape in = e.shape(x), weight = e.shape(w), out = e.shape(e.Output(0));
  const size_t n = window.rank();
  const auto phases = e.node().Ints("phases"), offsets = e.node().Ints("offsets");
  if (phases.size() != n || offsets.size() != n || weight.size() != 2 * n + 2 ||
      weight[n] != out.back() || weight[n + 1] != in.back() || e.HasInput(2)) {
    return e.Refuse("a weight of " + graph::ShapeToString(weight) + " does not fit its operand");
  }
  const int channel_axis = static_cast<int>(n) + 1;
  const PaddedImage image = Pad(e, x, window, channel_axis, 0);
  graph::Shape reduced(weight.begin() + n + 2, weight.end());
  reduced.push_back(in.back());
  DefineProductSum(e, 0, reduced, [&](const Indices& point, const Indices& r) {
    Indices position, taps, weights;
    for (size_t d = 0; d < n; ++d) {
      const int64_t whole = offsets[d] / phases[d], rest = offsets[d] % phases[d];
      const Expr phase = point[2 + 2 * d];
      // (phase + offset) / phases, where the phase is smaller than their number.
      const Expr ahead = rest == 0
                             ? Expr(whole)
                             : tir::FloorDiv(phase + Expr(rest), Expr(phases[d])) + Expr(whole);
      position.push_back(point[1 + 2 * d]);
      taps.push_back(ahead - r[d] + Expr(window.Before(d)));
      weights.push_back(phase);
    }
    weights.push_back(point.back());
    weights.push_back(r[n]);
    for (size_t d = 0; d < n; ++d) weights.push_back(r[d]);
    const Expr value = e.ReadTensor(
        image.tensor, WindowIndices(window, channel_axis, image, point[0], r[n], position, taps));
    return Factors{value, e.Read(w, weights)};
  });
  return OkStatus();
}

}  // namespace temper::ops
