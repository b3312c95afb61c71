// What this machine can do at the moment: arithmetic, and copies from and to each level of memory.
// The roofline of `temper bench --profile`, measured in turns with the model because a core's speed
// drifts. Also what a target's description says of it once (rates.h).
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "compiler/target/peak_loop.h"
#include "compiler/target/target.h"

namespace temper {

// The nearest level that holds `bytes`, on `threads` cores of their own L1 and L2.
Level LevelOf(const Target& machine, int threads, double bytes);

// Of all threads together.
struct MachineRates {
  double gflops = 0;                     // float32; a multiply-add counts two
  std::array<double, kLevels> gbytes{};  // 10^9 bytes a second, read and written, by Level
};

// The multiply-add peak alone.
class PeakMeter {
 public:
  // On `threads` threads at the same time, of vectors of at most `vector_bits`.
  PeakMeter(int threads, const Clock& clock, int vector_bits = 512);

  // 10^9 float32 operations a second, over about `seconds`, at `quantile` of its pieces, the
  // slowest first; the caches stay as they are.
  double Measure(double seconds, double quantile = 0.5) const;

 private:
  int threads_;
  PeakLoop loop_;
  const Clock& clock_;
};

// Measures with `threads` threads, each on buffers of its own. Not thread-safe.
class RateMeter {
 public:
  // The peak is that of vectors of at most `vector_bits`. Takes memory for four times the L3, at
  // most 256 MiB.
  RateMeter(const Target& machine, int threads, int vector_bits, const Clock& clock);

  // Takes some 15 ms and leaves the caches with its own data.
  MachineRates Measure();
  // The same with reads alone, and of the quick pieces of each: what the machine could do while
  // nothing else ran on it.
  MachineRates MeasureReads();
  // 10^9 bytes a second, read and written, of a copy that touches `bytes` on all threads together,
  // between buffers that were allocated like a tensor of that size: its pages count too, and
  // between two levels a part of it lies in the nearer one. Takes about a millisecond.
  double MeasureCopy(double bytes);

 private:
  enum class Traffic { kCopy, kRead };

  double Move(Level level, Traffic traffic, double seconds);

  int threads_;
  PeakMeter peak_;
  const Clock& clock_;
  double quantile_ = 0.5;                   // of a measurement's pieces, the slowest first
  std::array<size_t, kLevels> bytes_{};     // of each thread, source and result together
  std::vector<std::vector<char>> buffers_;  // by thread
};

// Of `machine`, which is the one this runs on: one core, then all that it has and this process may
// use. Takes about 0.4 s, and memory for four times the L3 twice.
Rates MeasureRates(const Target& machine, const Clock& clock);

}  // namespace temper
