// What Resize's operands say about each dimension; inference and the composition share it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/infer/context.h"

namespace temper::graph {

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  // Output over input extent, as a quotient that keeps ratios of integers exact.
  double scale_up = 1;    // numerator
  double scale_down = 1;  // denominator
  double roi_start = 0;   // of tf_crop_and_resize, in units of the input's extent
  double roi_end = 1;

  double Scale() const { return scale_up / scale_down; }
  bool Same() const { return in == out && scale_up == scale_down; }
};

// One entry a dimension; nothing if an operand is not constant.
Result<std::optional<std::vector<ResizeAxis>>> ResizeAxes(const InferContext& context);

}  // namespace temper::graph
