// A few independent jobs on a few threads.
#pragma once

#include <functional>

#include "base/status.h"

namespace temper::driver {

// Calls work(i) for each i of [0, count), on at most `threads` threads, in any order. The error of
// the lowest i, if there is one; then some later calls may not have been made.
Status ForEachParallel(int count, int threads, const std::function<Status(int)>& work);

}  // namespace temper::driver
