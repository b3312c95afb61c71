// The operators and the pass of this project, as the driver takes them.
#pragma once

#include "compiler/driver/extension.h"

namespace outside {

// com.example.SmoothStep(x; low, high): 0 up to low, 1 from high on, and between them
// t * t * (3 - 2 * t), t being the share of the way. Elementwise.
std::shared_ptr<const temper::ops::OutsideOp> SmoothStep();

// com.example.RowRange(x): the largest element of each row less the smallest; the last dimension
// becomes 1.
std::shared_ptr<const temper::ops::OutsideOp> RowRange();

// y = SmoothStep(Clip(x, a, b)) is SmoothStep(x) where [a, b] covers [low, high].
temper::Status DropClips(temper::graph::Graph& graph);

temper::driver::Extensions AllExtensions();

}  // namespace outside
