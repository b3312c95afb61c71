// Where the values of a run lie in the model's scratch memory (its arena).
//
// A buffer lives from one step of the model to another. Buffers whose lives meet do not overlap.
// Greedy by size: the largest buffer first, each at the lowest place that is free for all of its
// life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace temper::driver {

inline constexpr int64_t kBufferAlignment = 64;

struct BufferLife {
  int64_t bytes = 0;
  int first = 0;  // the step that writes it
  int last = 0;   // the last step that reads it, at least `first`
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one a buffer, multiples of kBufferAlignment
  int64_t arena_bytes = 0;
};

// RESOURCE_EXHAUSTED where the arena would be larger than 2^46 bytes. Equal input, equal plan.
Result<MemoryPlan> PlanMemory(const std::vector<BufferLife>& buffers);

}  // namespace temper::driver
