// Whose turn it is: the task whose next trials promise the largest gain for the whole model.
//
// The gain of a task is estimated from two sides, after Ansor's task scheduler (Zheng et al.,
// OSDI 2020, section 6): how much its last trials gained, and how far it is from what its size
// suggests, a distance that is believed less the more trials were spent on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace temper::tuner {

struct TaskProgress {
  double weight = 1;
  double flops = 1;        // of one run
  double expected_us = 1;  // the prior's, while nothing was measured
  int64_t trials = 0;      // given, results out or not
  bool exhausted = false;
  std::vector<double> best;  // best time after each measured trial, 0 while none was ok

  double best_us() const { return best.empty() ? 0 : best.back(); }
};

// The microseconds of the whole model that a trial more is expected to gain.
double ExpectedGain(const TaskProgress& task, double best_gflops);

// The next task; -1 when all are exhausted. Tasks without a trial come first, the heaviest by
// the prior before others; then the largest gain, with a small share at random.
int PickTask(const std::vector<const TaskProgress*>& tasks, Rng& rng);

}  // namespace temper::tuner
