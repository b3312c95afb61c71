// Whether a job's times can be repeated, judged from its results as they come.
//
// A result has many samples of one kernel, and the control kernel's speed meanwhile. Medians of a
// few successive samples, each as a multiple of the kernel's normalized time, are the turns that
// JudgeSteadiness (base/steadiness.h) takes, the latest few hundred of all kernels together. That a
// kernel is slower in the final round says nothing: in turns with others it finds colder caches.
// Not thread-safe: one owner.
#pragma once

#include <deque>

#include "base/steadiness.h"
#include "proto/measure.pb.h"

namespace temper::tuner {

class TimingWatch {
 public:
  // A result of any outcome; `control_gflops` is the worker's control kernel at a drift of 1.
  void Add(const proto::CandidateResult& result, double control_gflops);
  // What disturbed them. Figures that make no sense are ignored.
  void Add(const proto::Disturbance& disturbance);

  // The verdict so far. `within` is 0 and there is no warning while there are few turns.
  Steadiness Judge() const;

 private:
  std::deque<TimedTurn> turns_;
  double timed_seconds_ = 0, switches_ = 0;
  double stolen_ = 0, stolen_reports_ = 0;
};

}  // namespace temper::tuner
