// Small programs whose every schedule can be interpreted in a moment.
#pragma once

#include "compiler/te/program.h"

namespace temper::lower {

te::Program MatmulBiasRelu(int64_t m, int64_t n, int64_t k);

// Channels-last, stride 1, padding 1, 3x3; the input has a halo of one, so has the output.
te::Program ConvWithHalo(int64_t h, int64_t ci, int64_t co);

// The same without halos: the padding is a stage of its own.
te::Program ConvWithPadStage(int64_t h, int64_t ci, int64_t co);

// 3x3 over images of h x w with a batch, and a ReLU; `halo` zeros around the input (0 or 1).
te::Program ConvBatch(int64_t n, int64_t h, int64_t w, int64_t ci, int64_t co, int64_t halo);

te::Program Softmax(int64_t rows, int64_t columns);

}  // namespace temper::lower
