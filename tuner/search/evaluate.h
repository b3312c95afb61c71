// What the cost model sees of a schedule.
#pragma once

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"
#include "costmodel/features.h"
#include "tuner/space/space.h"

namespace temper::tuner {

// Lowers the schedule and extracts its features. The status of lowering where it is illegal.
Result<costmodel::ProgramFeatures> Describe(const te::Program& program,
                                            const schedule::Schedule& schedule,
                                            const Target& target);

// The same for a schedule of the space's workload, and sooner for one of its alternative, whose
// program the space keeps.
Result<costmodel::ProgramFeatures> Describe(const Space& space, const schedule::Schedule& schedule);

}  // namespace temper::tuner
