// What the cost model sees of a schedule.
#pragma once

#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/program.h"
#include "costmodel/features.h"

namespace temper::tuner {

// Lowers the schedule and extracts its features. The status of lowering where it is illegal.
Result<costmodel::ProgramFeatures> Describe(const te::Program& program,
                                            const schedule::Schedule& schedule,
                                            const Target& target);

}  // namespace temper::tuner
