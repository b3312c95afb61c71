// Which workloads a worker can hold at all, so that others are refused by name before they are
// sent.
#pragma once

#include "compiler/te/program.h"

namespace temper::wire {

// A worker keeps inputs and outputs of a workload twice: the reference's and the candidate's. Its
// runner has 16 GiB of addresses (worker/agent/pipeline.h).
inline constexpr int64_t kMaxWorkloadBytes = int64_t{8} << 30;

// OK, or RESOURCE_EXHAUSTED that says how many bytes the inputs and outputs take.
Status CheckMeasurable(const te::Program& program);

}  // namespace temper::wire
