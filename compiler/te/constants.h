// Which workloads take another time when their constants stay in the caches (base/constants.h).
#pragma once

#include "base/constants.h"
#include "compiler/te/program.h"

namespace temper::te {

// Whether a schedule of the program may read a constant so large that measurements evict it
// (worker/runner/cold_constants.h). Winograd's constants are four times the workload's.
bool HasLargeConstants(const Program& program);

// What a model's `constants` come to for one of its workloads: those without large ones are timed
// alike in all models, and share their records, which count as cold.
inline Constants ConstantsOf(const Program& program, Constants constants) {
  return HasLargeConstants(program) ? constants : Constants::kCold;
}

}  // namespace temper::te
