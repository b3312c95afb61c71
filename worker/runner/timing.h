// How long kernels take, as exactly as is worth knowing.
//
// Kernels are timed in turns with each other and with a control kernel, because a core's speed
// drifts: in each round the control runs once (more often where the round is long) and each kernel
// for one sample of several runs. A kernel is done when its median is known well enough, when it
// surely cannot beat the incumbent, or when the budget is spent. Of a kernel whose run takes a
// millisecond or more each run is a sample, the one that warms up too: the search has no time to
// run it often. Times come from a function, so that the rules can be tested with made-up times.
#pragma once

#include <functional>
#include <vector>

namespace temper::runner {

struct TimingOptions {
  double incumbent_us = 0;        // at a drift of 1; 0: none
  double budget_seconds = 0.012;  // of all kernels together, the control aside
  double min_relative_error = 0.01;
  bool precise = false;  // no early stop
  double sample_seconds = 200e-6;
  double control_reference_seconds = 0;  // the control's time at a drift of 1; 0: no control
  // What the very first run of each kernel took, when its result was checked; may be empty. With
  // one that is long and far behind the incumbent the kernel is done.
  std::vector<double> first_seconds;
};

struct TimingResult {
  double median_us = 0;
  std::vector<float> samples;  // microseconds a run
  double spread = 0;           // half of the middle half's width by the median
  double control_us = 0;       // median of the rounds it took part in
  double drift = 1;
  bool stopped_early = false;
  bool too_noisy = false;  // the median means little
};

inline constexpr int kMaxSamples = 64;
inline constexpr double kNoisySpread = 0.3;

// kernels[i](n): seconds that n runs of kernel i in a row take. control(): seconds of one run of
// the control kernel. Both run on the calling thread.
std::vector<TimingResult> TimeInTurns(const std::vector<std::function<double(int)>>& kernels,
                                      const std::function<double()>& control,
                                      const TimingOptions& options);

// The middle value; 0 of none.
double Median(std::vector<double> values);
// Half of the width of the middle half by the median.
double RelativeSpread(std::vector<double> values);

}  // namespace temper::runner
