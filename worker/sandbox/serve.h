// The loop of the two programs that serve a worker from inside a jail.
#pragma once

#include <functional>
#include <string_view>

#include "base/frame_channel.h"
#include "base/status.h"

namespace temper::sandbox {

// Says "PROGRAM: message" on stderr; 1, the exit status that goes with it.
int FailServing(std::string_view program, const Status& status);

// Answers each request that comes over descriptor 3 by what `answer` makes of it, until the worker
// hangs up. With `filter` the serving filter (seccomp_filter.h) is put on first. Memory running
// out ends the process with kOutOfMemoryExit. Returns the exit status.
int ServeFrames(std::string_view program, bool filter,
                const std::function<Result<Frame>(const Frame& request)>& answer);

}  // namespace temper::sandbox
