#include "base/steadiness.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace temper {
namespace {

constexpr double kManySwitches = 20;  // a second; a quiet machine has a few
constexpr double kMuchStolen = 0.01;
constexpr double kSpeedChange = 0.04;

double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// Half of what the middle four fifths span, by the median.
double Spread(const std::vector<double>& sorted) {
  const double median = Quantile(sorted, 0.5);
  return median > 0 ? (Quantile(sorted, 0.9) - Quantile(sorted, 0.1)) / 2 / median : 0;
}

std::string ReasonOf(const Disturbance& d, const std::vector<double>& gflops) {
  if (d.switches_a_second > kManySwitches) {
    return fmt::format("other programs took the core {:.0f} times a second", d.switches_a_second);
  }
  if (d.stolen > kMuchStolen) {
    return fmt::format("the host of this virtual machine gave {:.0f} % of its time to others",
                       d.stolen * 100);
  }
  if (Spread(gflops) > kSpeedChange) {
    return fmt::format("the core's speed went from {:.0f} to {:.0f} GFLOP/s", Quantile(gflops, 0.1),
                       Quantile(gflops, 0.9));
  }
  return "the times scatter while the core's speed does not: caches or memory are shared with "
         "others";
}

// Of this process so far.
int64_t UnaskedSwitches() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace

Steadiness JudgeSteadiness(std::span<const TimedTurn> turns, const Disturbance& disturbance) {
  Steadiness result;
  std::vector<double> gflops, work;
  for (const TimedTurn& t : turns) {
    if (!(t.us > 0) || !(t.gflops > 0)) continue;
    gflops.push_back(t.gflops);
    work.push_back(t.us * t.gflops);
  }
  result.within = 1;
  if (!work.empty()) {
    std::sort(gflops.begin(), gflops.end());
    std::sort(work.begin(), work.end());
    result.gflops = Quantile(gflops, 0.5);
    result.normalized_us = Quantile(work, 0.5) / result.gflops;
  }
  if (work.size() < static_cast<size_t>(kFewTurns)) {
    result.warning = "too few timings to tell how well they can be repeated; measure for longer";
    return result;
  }
  result.within = Spread(work);
  if (result.within > kPromised) {
    result.warning =
        fmt::format("these times cannot be promised to {:.0f} %: turns differ by {:.0f} %; {}",
                    kPromised * 100, result.within * 100, ReasonOf(disturbance, gflops));
  }
  return result;
}

MachineTicks ReadMachineTicks() {
  // "cpu user nice system idle iowait irq softirq steal ...".
  MachineTicks read;
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  double ticks = 0;
  for (int i = 0; i < 8 && stat >> ticks; ++i) {
    read.all += ticks;
    if (i == 7) read.stolen = ticks;
  }
  return read;
}

DisturbanceMeter::DisturbanceMeter(const Clock& clock)
    : clock_(clock),
      start_(clock.NowSeconds()),
      first_switches_(UnaskedSwitches()),
      first_(ReadMachineTicks()) {}

Disturbance DisturbanceMeter::Read() const {
  const MachineTicks now = ReadMachineTicks();
  const double seconds = std::max(clock_.NowSeconds() - start_, 1e-3);
  Disturbance d;
  d.switches_a_second = static_cast<double>(UnaskedSwitches() - first_switches_) / seconds;
  if (now.all > first_.all) d.stolen = (now.stolen - first_.stolen) / (now.all - first_.all);
  return d;
}

}  // namespace temper
