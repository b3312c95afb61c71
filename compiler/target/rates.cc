#include "compiler/target/rates.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace temper {
namespace {

constexpr size_t kNumbers = 4 + 2 * kLevels;
constexpr int64_t kMost = 100'000'000;

double Of(const Rates::Rate& rate, int cores, int threads) {
  if (threads <= 1) return rate.core;
  const double alone = static_cast<double>(rate.core) * std::min(threads, cores);
  return std::max<double>(rate.core, std::min<double>(alone, rate.all));
}

}  // namespace

std::string_view LevelName(Level level) {
  constexpr std::array<std::string_view, kLevels> kNames = {"L1", "L2", "L3", "memory"};
  return kNames[static_cast<size_t>(level)];
}

double Rates::Gflops(int threads) const { return Of(gflops, cores, threads); }

double Rates::Gbytes(Level level, int threads) const {
  return Of(gbytes[static_cast<size_t>(level)], cores, threads);
}

std::string RatesText(const Rates& rates) {
  std::string text = std::to_string(rates.cores);
  auto add = [&text](int number) { text += "," + std::to_string(number); };
  add(rates.gflops.core);
  add(rates.gflops.all);
  for (const Rates::Rate& rate : rates.gbytes) {
    add(rate.core);
    add(rate.all);
  }
  add(rates.handoff_ns);
  return text;
}

Result<Rates> ParseRates(std::string_view text) {
  std::vector<int> numbers;
  for (std::string_view word : SplitString(text, ',')) {
    auto n = ParseInt64(word);
    if (!n.ok() || *n <= 0 || *n > kMost || numbers.size() == kNumbers) {
      return InvalidArgument("not a machine's rates: " + Quoted(text, 200));
    }
    numbers.push_back(static_cast<int>(*n));
  }
  if (numbers.size() != kNumbers) {
    return InvalidArgument("not a machine's rates: " + Quoted(text, 200));
  }
  Rates rates;
  size_t at = 0;
  rates.cores = numbers[at++];
  auto take = [&](Rates::Rate* rate) {
    rate->core = numbers[at++];
    rate->all = numbers[at++];
  };
  take(&rates.gflops);
  for (Rates::Rate& rate : rates.gbytes) take(&rate);
  rates.handoff_ns = numbers[at];
  return rates;
}

}  // namespace temper
