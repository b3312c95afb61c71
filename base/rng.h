// A small seeded generator that gives the same numbers on every platform and compiler, which the
// standard library's distributions do not. xoshiro256** seeded by splitmix64 (Blackman and Vigna,
// https://prng.di.unimi.it). Not for secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace temper {

// Passed by reference to whatever draws. Copying it repeats its numbers. Not thread-safe.
class Rng {
 public:
  explicit Rng(uint64_t seed);

  // 64 random bits.
  uint64_t Next();

  // An integer of [0, n), without bias. REQUIRES: n > 0.
  uint64_t Uniform(uint64_t n);

  // An integer of [low, high], without bias. REQUIRES: low <= high.
  int64_t UniformInt(int64_t low, int64_t high);

  // A number of [0, 1) with 53 random bits.
  double Uniform01();

  // True with probability p.
  bool Chance(double p) { return Uniform01() < p; }

  // A normally distributed number of mean 0 and deviation 1.
  double Normal();

  // The index of one weight, drawn in proportion. Negative and NaN weights count as 0; with no
  // positive weight every index is equally likely. REQUIRES: not empty.
  size_t Weighted(const std::vector<double>& weights);

  // Every order of the items is equally likely.
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[Uniform(i)]);
    }
  }

  // A generator of its own for part `stream` of the work. Depends on this one's seed and on
  // `stream` only, not on what was drawn, so that parts may run in any order.
  Rng Fork(uint64_t stream) const;

 private:
  uint64_t seed_;
  uint64_t state_[4];
};

}  // namespace temper
