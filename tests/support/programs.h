// Example programs that tests of the compiler share: one builder a family, with small sizes for
// what is interpreted. Every one passes te::Verify.
#pragma once

#include <string>
#include <vector>

#include "compiler/te/program.h"

namespace temper::testing {

// c[m, n] = max(sum_k x[m, k] * w[k, n] + bias[n], 0); w and bias are constants.
te::Program MatmulBiasRelu(int64_t m, int64_t n, int64_t k);

// c[b, m, n] = sum_k x[b, m, k] * y[b, k, n]
te::Program BatchMatmul(int64_t b, int64_t m, int64_t n, int64_t k);

struct ConvSize {
  int64_t height = 8, width = 8;  // of the input
  int64_t in = 4, out = 8;        // channels
  int64_t kernel = 3, stride = 1, pad = 1;
};
// Channels-last, batch 1, with bias and ReLU; the padding is the input's halo. Weights are
// [kernel, kernel, in, out].
te::Program Conv(const ConvSize& size);
// The same computation with the padding done by a stage of its own, with a select.
te::Program PaddedConv(const ConvSize& size);
// Conv in groups: each of `groups` equal parts of the results reads its part of the channels;
// weights [out, in / groups, kernel, kernel]. `in` and `out` are multiples of `groups`.
te::Program GroupedConv(const ConvSize& size, int64_t groups);
// size.in channels, each on its own; weights [kernel, kernel, in].
te::Program Depthwise(const ConvSize& size);
// The same channels first, [1, size.in, height, width]: a stage pads the rows and puts what a
// stride skips into rows of its own, [.., h, w % stride, w / stride]. Weights are
// [in, kernel, kernel].
te::Program DepthwiseRows(const ConvSize& size);

// Padding counts as the lowest value (max) or is not counted (average). size.in channels.
te::Program MaxPool(const ConvSize& size);
te::Program AvgPool(const ConvSize& size);
te::Program GlobalAvgPool(int64_t height, int64_t width, int64_t channels);

// Over the last dimension: max, exp, sum, divide.
te::Program Softmax(int64_t rows, int64_t columns);

// Over the last dimension: sum, mean, squares, inverse deviation; then scaled.
te::Program LayerNorm(int64_t rows, int64_t columns);

// y[i] = sum_k x[i, k] / columns
te::Program RowMean(int64_t rows, int64_t columns);
// int8 summed in int32 over the last two dimensions: y[i] = sum_j sum_k x[i, j, k].
te::Program IntRowSum(int64_t rows, int64_t middle, int64_t columns);
// y[i] = max_k x[i, k]
te::Program RowMax(int64_t rows, int64_t columns);
// y[n] = sum_k w[n, k] * x[k], w not a constant.
te::Program MatVec(int64_t n, int64_t k);

// Three stages: scale and shift, hard swish, a residual add.
te::Program ElementwiseChain(std::vector<int64_t> shape);

// Zeros around a [height, width] tensor: a select over index arithmetic.
te::Program Pad(int64_t height, int64_t width, int64_t by);

// Transpose and reshape of [a, b] to [b * a]: floor division and remainder.
te::Program TransposeReshape(int64_t a, int64_t b);

// int8 x int8 summed in int32.
te::Program Int8Matmul(int64_t m, int64_t n, int64_t k);

struct NamedProgram {
  std::string name;
  te::Program program;
};
// One small program of each family.
std::vector<NamedProgram> SmallPrograms();

}  // namespace temper::testing
