// Whether a timing can be repeated: what a benchmark, or a tuning run, says of itself.
//
// A core's speed drifts, so that only times relative to the multiply-add peak, taken in turns with
// the work, can be compared between runs. Where even those scatter from turn to turn, another run
// will not give the same, and the reader is told so and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"

namespace temper {

// Some runs right after a measurement of the peak.
struct TimedTurn {
  double us = 0;      // median of a run
  double gflops = 0;  // the peak, on as many threads
};

// What kept the processor from the work meanwhile.
struct Disturbance {
  double switches_a_second = 0;  // to other programs, unasked for
  double stolen = 0;             // share of the machine's time that its host gave to others
};

struct Steadiness {
  double gflops = 0;         // median of the peak
  double normalized_us = 0;  // median of us, each as if the peak had been `gflops`
  double within = 0;         // four of five turns are so near to it, relative; 1 of too few turns
  std::string warning;       // with the reason, where `within` is over kPromised; else empty
};

// Two timings that promise it are within so much of each other.
inline constexpr double kPromised = 0.05;
// Fewer turns say nothing.
inline constexpr int kFewTurns = 5;

Steadiness JudgeSteadiness(std::span<const TimedTurn> turns, const Disturbance& disturbance);

// The machine's time since its start, in ticks: what its host gave to others, and all of it. Zeros
// where the system does not say.
struct MachineTicks {
  double stolen = 0, all = 0;
};
MachineTicks ReadMachineTicks();

// Counts what disturbs from its making on.
class DisturbanceMeter {
 public:
  explicit DisturbanceMeter(const Clock& clock);
  Disturbance Read() const;

 private:
  const Clock& clock_;
  double start_;
  int64_t first_switches_;
  MachineTicks first_;
};

}  // namespace temper
