// Hints for a task's search from what was measured of other workloads.
#pragma once

#include <span>

#include "tuner/scheduler/tuner.h"

namespace temper::tuner {

// Where a known workload differs from the search's in its sizes only, what was fast for the one is
// worth trying for the other: its fastest schedules, translated, are suggested to the search. The
// known ones take turns, in their order, so that the best of each is tried first.
void SuggestFrom(std::span<const KnownTask> known, const Target& target, int threads,
                 TaskSearch& search);

}  // namespace temper::tuner
