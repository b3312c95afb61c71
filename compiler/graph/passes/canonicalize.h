// Pass canonicalize: one way to write each operator, with everything said that follows from types.
//
//   y = Conv(x, w) {auto_pad = "SAME_UPPER", strides = [2, 2]}          x: [1,3,224,224]
//   y = Conv(x, w) {dilations = [1, 1], group = 1, kernel_shape = [3, 3], pads = [0, 0, 1, 1],
//                   strides = [2, 2]}
//
// After it, where shapes are static and the operands that ONNX lets be computed are constant:
//   - Conv, ConvTranspose, MaxPool, AveragePool have kernel_shape, strides, dilations, pads (and
//     group; count_include_pad; output_padding); no auto_pad, output_shape or storage_order.
//     ceil_mode is resolved into pads, but for an AveragePool that counts its padding.
//   - Flatten, Squeeze, Unsqueeze are Reshapes; a Reshape's shape is that of its result.
//   - Axes are not negative. Reduce*: input 1 is the sorted list of axes, keepdims is said. Split:
//     input 1 is the list of sizes. Expand: input 1 is the shape of the result. Transpose has perm.
//   - Slice has five inputs that cover all dimensions in order; an end before the first element is
//     written -(size + 1). Pad: pads cover all dimensions, the value is there, no axes, a mode.
//   - Sum, Max and Min take two operands; Mean is a Div of Adds.
//   - Div by constants whose reciprocals are exact, or for Erf alone, is a Mul.
//   - Attributes with defaults are there: alpha, beta, epsilon, transA, ...
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

Status RunCanonicalize(Graph& graph);

}  // namespace temper::graph
