// Sliding windows of convolutions and pools.
#pragma once

#include <algorithm>

#include "compiler/ops/emitter.h"

namespace temper::ops {

// One window, per spatial dimension of the image. Output position o reads the inputs
// o * stride + k * dilation - pad_before for k in [0, kernel).
struct Window {
  std::vector<int64_t> input, output;  // spatial extents
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads_before, pads_after;  // as the node states them

  size_t rank() const { return kernel.size(); }
  // How many elements before and behind the input are read. With ceil_mode more or less than the
  // stated padding may be.
  int64_t Before(size_t d) const { return pads_before[d]; }
  int64_t After(size_t d) const {
    const int64_t last = (output[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d];
    return std::max<int64_t>(0, last - pads_before[d] - (input[d] - 1));
  }
  bool ReadsOutside() const {
    for (size_t d = 0; d < rank(); ++d) {
      if (Before(d) > 0 || After(d) > 0) return true;
    }
    return false;
  }
};

// The first spatial dimension of an image whose channels lie at `channel_axis`.
inline size_t FirstSpatial(int channel_axis) { return channel_axis == 1 ? 2 : 1; }

// The window of a Conv or pool, in either layout. A Conv without kernel_shape has its weight's.
// INVALID_ARGUMENT if attributes and shapes do not fit together.
Result<Window> WindowOf(const graph::Graph& graph, const graph::Node& node);

// The halo that the node would like its image operand to have, so that it can read its padding
// from there: empty if it reads nothing outside or zeros would not do. A MaxPool can use zeros
// where its operand is known to have no negative elements.
Halo WantedHalo(const graph::Graph& graph, const graph::Node& node);

// Whether no element of the value can be negative (NaN aside), as its producers tell.
bool IsNonNegative(const graph::Graph& graph, int value);

// An image operand with its padding: position i in its own coordinates (which may be outside by as
// much as the window reads) is tensor index i + offset.
//
// With phases, position i along the last dimension is element i / phases of row i % phases:
//   x[c, h, 2 q + p - 1]  ->  x.pad[c, h, p, q]
// so that the neighbours of a strided window along its rows lie side by side, as vectors want them.
struct PaddedImage {
  int tensor = -1;
  std::vector<int64_t> offset;  // per dimension of the operand
  int64_t phases = 1;
};

// Whether the operand is stored with zeros around it as far as the window reads.
bool HaloHolds(Emitter& e, int value, const Window& window, int channel_axis);

// Reads go to the operand itself where the window stays inside, or where `fill` is zero and its
// halo is wide enough; else a stage is added that pads it with `fill`, in phases where rows are
// contiguous (channels first) and the window strides along them.
PaddedImage Pad(Emitter& e, int value, const Window& window, int channel_axis, double fill);

// The indices of a window's element: batch and channel as given.
Indices WindowIndices(const Window& window, int channel_axis, const PaddedImage& image,
                      const tir::Expr& batch, const tir::Expr& channel,
                      std::span<const tir::Expr> position, std::span<const tir::Expr> tap);

}  // namespace temper::ops
