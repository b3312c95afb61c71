// Whether a model's constants stay in the last-level cache from one run to the next.
#pragma once

#include <cstdint>

#include "base/constants.h"
#include "compiler/driver/kernels.h"
#include "compiler/target/target.h"

namespace temper::driver {

// Bytes of the distinct constants that a run reads: those of the largest specialization, with both
// branches of an If. As the graph has them: a packed constant is about as large, Winograd's, which
// some schedules have instead, are up to four times so.
int64_t ConstantBytes(const ModelKernels& model);

// kWarm where so many bytes leave room enough in the target's last-level cache for the activations,
// and for what other programs keep there.
Constants PlaceOfConstants(int64_t bytes, const Target& target);

}  // namespace temper::driver
