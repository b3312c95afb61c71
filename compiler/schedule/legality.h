// Whether a schedule can be applied to a program on a target, and if not, why.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace temper::schedule {

// `program` is the canonical program, without the schedule's steps. FAILED_PRECONDITION with the
// reason where the schedule is illegal: illegal schedules are normal in a search. Bounds: loops,
// factors and unrolled bodies are limited, so that a hostile schedule cannot make lowering or
// code generation run away.
Status CheckLegal(const te::Program& program, const Schedule& schedule, const Target& target);

// The same for a program to which the schedule's steps were applied already.
Status CheckStages(const te::Program& stepped, const Schedule& schedule);

// At most so many copies of a statement by unrolling, over a whole stage.
inline constexpr int64_t kMaxUnroll = 1024;

}  // namespace temper::schedule
