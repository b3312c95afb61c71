// Runs cases in processes of their own, several at once, so that one that crashes or never ends is
// an outcome like any other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/conformance/run_case.h"

namespace temper::conformance {

// Calls `run(i, folder)` for i in [0, count) in forked children, at most `jobs` at a time, each
// with a temporary folder of its own; a child that takes longer than `limit_seconds` is killed. The
// outcomes are in order. REQUIRES: the process has one thread.
Result<std::vector<Outcome>> RunIsolated(
    int count, int jobs, double limit_seconds,
    const std::function<Outcome(int i, const std::string& folder)>& run);

}  // namespace temper::conformance
