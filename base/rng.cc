#include "base/rng.h"

#include <bit>
#include <cmath>

#include "base/status.h"

namespace temper {
namespace {

uint64_t SplitMix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool Positive(double weight) { return weight > 0; }  // false for NaN

}  // namespace

Rng::Rng(uint64_t seed) : seed_(seed) {
  uint64_t state = seed;
  for (uint64_t& word : state_) word = SplitMix(state);
}

uint64_t Rng::Next() {
  uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Rng::Uniform(uint64_t n) {
  TEMPER_CHECK(n > 0);
  // The lowest 2^64 mod n values are refused, so that every remainder is equally likely.
  uint64_t refused = (0 - n) % n;
  for (;;) {
    uint64_t value = Next();
    if (value >= refused) return value % n;
  }
}

int64_t Rng::UniformInt(int64_t low, int64_t high) {
  TEMPER_CHECK(low <= high);
  uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  uint64_t offset = span == UINT64_MAX ? Next() : Uniform(span + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Rng::Uniform01() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Rng::Normal() {
  double radius = std::sqrt(-2 * std::log(1 - Uniform01()));
  return radius * std::cos(2 * 3.14159265358979323846 * Uniform01());
}

size_t Rng::Weighted(const std::vector<double>& weights) {
  TEMPER_CHECK(!weights.empty());
  double total = 0;
  for (double weight : weights) total += Positive(weight) ? weight : 0;
  if (!Positive(total) || !std::isfinite(total)) return Uniform(weights.size());
  double rest = Uniform01() * total;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!Positive(weights[i])) continue;
    last = i;
    rest -= weights[i];
    if (rest < 0) return i;
  }
  return last;  // rounding left a rest of about zero
}

Rng Rng::Fork(uint64_t stream) const {
  uint64_t state = seed_;
  uint64_t mixed = SplitMix(state) ^ (stream * 0xd1342543de82ef95u);
  return Rng(SplitMix(mixed));
}

}  // namespace temper
