// The inputs that a workload is measured on: values that depend on seed, argument and position
// only, so that separate processes agree on them without exchanging a tensor, and one element can
// be had without the others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace temper {

// Element `index` (row-major in the logical tensor) of argument `argument`. Floats are in (-1, 1),
// multiples of 2^-7, so exact in float32, float16 and bfloat16 alike, and never 0 (a divisor of 0
// would hide errors behind infinities); integers are in [-8, 8], unsigned ones in [0, 16]; a bool
// is 0 or 1.
double SeededValue(DType dtype, uint64_t seed, int argument, int64_t index);

// Elements [0, count) as `dtype` at `out`. With `absolute`, their absolute values. False for an
// element type that has no seeded values (float8).
bool FillSeeded(DType dtype, uint64_t seed, int argument, int64_t count, bool absolute, void* out);

}  // namespace temper
