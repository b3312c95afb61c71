// What this machine can do at the moment: arithmetic, and copies from and to each level of memory.
// The roofline of `temper bench --profile`, measured in turns with the model because a core's speed
// drifts.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "compiler/target/peak_loop.h"
#include "compiler/target/target.h"

namespace temper::tools {

enum class Level { kL1, kL2, kL3, kMemory };
inline constexpr int kLevels = 4;
std::string_view LevelName(Level level);  // "L1", "L2", "L3", "memory"

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

  // 10^9 float32 operations a second, over about `seconds`; the caches stay as they are.
  double Measure(double seconds) const;

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

 private:
  double Copy(Level level, double seconds);

  int threads_;
  PeakMeter peak_;
  const Clock& clock_;
  std::array<size_t, kLevels> bytes_{};     // of each thread, source and result together
  std::vector<std::vector<char>> buffers_;  // by thread
};

}  // namespace temper::tools
