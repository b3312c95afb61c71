// The floating types narrower than float32, through a description of their bits.
// float8 as in https://onnx.ai/onnx/technical/float8.html: finite numbers saturate, infinity stays
// where the type has one and saturates elsewhere. The 16-bit types overflow to infinity. All round
// to nearest even.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace temper {

// REQUIRES: a float type of one or two bytes. Every such value is a float32 too.
double DecodeNarrow(DType dtype, uint32_t bits);
uint32_t EncodeNarrow(DType dtype, double value);

}  // namespace temper
