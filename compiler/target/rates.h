// How fast a machine computes and moves data: measured, or guessed from what is known of it.
//
// Part of a target's description, not of its fingerprint: rates drift, and two machines may share
// records without sharing them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/status.h"

namespace temper {

enum class Level { kL1, kL2, kL3, kMemory };
inline constexpr int kLevels = 4;
std::string_view LevelName(Level level);  // "L1", "L2", "L3", "memory"

// Whole numbers, so that a description's text says all of it.
struct Rates {
  struct Rate {
    int core = 0;  // of one core while the others rest
    int all = 0;   // of all cores together
    bool operator==(const Rate&) const = default;
  };

  int cores = 0;                       // that `all` is of; 0: nothing is known
  Rate gflops;                         // 10^9 float32 operations a second; a multiply-add is two
  std::array<Rate, kLevels> gbytes{};  // 10^9 bytes a second read, by Level
  int handoff_ns = 0;                  // for another core to see what this one wrote, and back

  bool Known() const { return cores > 0; }
  // Of `threads` threads together, each on a core of its own as far as there are some.
  double Gflops(int threads) const;
  double Gbytes(Level level, int threads) const;

  bool operator==(const Rates&) const = default;
};

// Numbers and commas, in the order above. REQUIRES: rates.Known().
std::string RatesText(const Rates& rates);
Result<Rates> ParseRates(std::string_view text);

}  // namespace temper
