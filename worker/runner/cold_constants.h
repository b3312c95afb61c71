// Taking a kernel's large constants out of the caches before it is timed.
//
// Within a model a kernel's activations were just written and are in the caches, but constants
// larger than a core's second-level cache were last read one inference ago and have been pushed
// out by other kernels' constants since. A kernel timed over and over finds them warm instead and
// looks faster than it is in the model, the more the larger they are: a Winograd kernel's are up
// to four times those of the direct one. So they are evicted before each timed run, outside of
// the clock; except for a model whose constants all stay in the last level (base/constants.h).
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "worker/runner/candidate.h"

namespace temper::runner {

// Constants from so many bytes on are taken for cold.
inline constexpr int64_t kColdBytes = 1 << 20;

// Address and bytes of the constants of `kernel` that are cold in a model. `args`: the pointers
// that the kernel is called with.
std::vector<std::pair<const void*, int64_t>> ColdConstants(const Candidate& kernel,
                                                           const std::vector<void*>& args);

using Evictor = std::function<void(const void* data, int64_t bytes)>;

// Writes back and drops every cache line of the bytes, in all caches. Does nothing on a CPU
// without an instruction for it.
void Evict(const void* data, int64_t bytes);

}  // namespace temper::runner
