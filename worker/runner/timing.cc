#include "worker/runner/timing.h"

#include <algorithm>
#include <cmath>

namespace temper::runner {
namespace {

// Surely slower: even the fastest sample is behind the incumbent by so much.
constexpr double kClearlySlower = 1.15;
constexpr double kFarSlower = 1.6;  // one sample is enough then
constexpr int kFewSamples = 3;
constexpr int kMinSamples = 5;
// Of a round's time, what runs of the control may take beyond the first: slow kernels have few
// rounds, and one disturbed run of the control would shift their times.
constexpr double kControlShare = 0.1;
constexpr int kMaxControls = 15;

struct State {
  int runs = 1;                 // a sample
  std::vector<double> seconds;  // a run
  std::vector<double> controls;
  double spent = 0;
  bool done = false;
  bool stopped_early = false;
};

double Quantile(const std::vector<double>& sorted, double q) {
  double at = q * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double DriftOf(const State& state, const TimingOptions& options) {
  if (options.control_reference_seconds <= 0 || state.controls.empty()) return 1;
  return Median(state.controls) / options.control_reference_seconds;
}

bool CannotWin(const State& state, const TimingOptions& options) {
  if (options.precise || options.incumbent_us <= 0) return false;
  double best_us =
      *std::min_element(state.seconds.begin(), state.seconds.end()) * 1e6 / DriftOf(state, options);
  if (best_us > options.incumbent_us * kFarSlower) return true;
  return state.seconds.size() >= kFewSamples && best_us > options.incumbent_us * kClearlySlower;
}

bool KnownWellEnough(const State& state, const TimingOptions& options, double share) {
  size_t n = state.seconds.size();
  if (n >= kMaxSamples) return true;
  // A slow kernel's single runs are long samples already.
  if (state.spent >= 8 * share || (state.spent >= share && n >= kFewSamples)) return true;
  if (n < kMinSamples || options.precise) return false;
  // The standard error of a median from the middle half, as for a normal distribution.
  double error = 1.25 * RelativeSpread(state.seconds) / 0.674 / std::sqrt(static_cast<double>(n));
  return error <= options.min_relative_error;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

double RelativeSpread(std::vector<double> values) {
  if (values.size() < 2) return 0;
  std::sort(values.begin(), values.end());
  double median = Quantile(values, 0.5);
  return median > 0 ? (Quantile(values, 0.75) - Quantile(values, 0.25)) / 2 / median : 0;
}

std::vector<TimingResult> TimeInTurns(const std::vector<std::function<double(int)>>& kernels,
                                      const std::function<double()>& control,
                                      const TimingOptions& options) {
  std::vector<State> states(kernels.size());
  const double share =
      options.budget_seconds / static_cast<double>(std::max<size_t>(kernels.size(), 1));
  for (size_t i = 0; i < kernels.size(); ++i) {
    double once = std::max(kernels[i](1), 1e-9);  // warms caches and predictors, too
    states[i].spent += once;
    states[i].runs =
        static_cast<int>(std::clamp(std::ceil(options.sample_seconds / once), 1.0, 10000.0));
  }
  int control_runs = 0;  // a round
  if (options.control_reference_seconds > 0) {
    double round = 0;
    for (const State& state : states) round += state.spent * state.runs;
    control_runs = static_cast<int>(std::clamp(
        kControlShare * round / options.control_reference_seconds, 1.0, 1.0 * kMaxControls));
  }
  std::vector<double> controls;  // of a round
  for (bool busy = !kernels.empty(); busy;) {
    busy = false;
    controls.clear();
    for (int i = 0; i < control_runs; ++i) controls.push_back(control());
    for (size_t i = 0; i < kernels.size(); ++i) {
      State& state = states[i];
      if (state.done) continue;
      double seconds = std::max(kernels[i](state.runs), 1e-9);
      state.spent += seconds;
      state.seconds.push_back(seconds / state.runs);
      state.controls.insert(state.controls.end(), controls.begin(), controls.end());
      if (CannotWin(state, options)) state.done = state.stopped_early = true;
      if (KnownWellEnough(state, options, share)) state.done = true;
      busy = busy || !state.done;
    }
  }
  std::vector<TimingResult> results;
  for (const State& state : states) {
    TimingResult result;
    for (double s : state.seconds) result.samples.push_back(static_cast<float>(s * 1e6));
    result.median_us = Median(state.seconds) * 1e6;
    result.spread = RelativeSpread(state.seconds);
    result.control_us = Median(state.controls) * 1e6;
    result.drift = DriftOf(state, options);
    result.stopped_early = state.stopped_early;
    result.too_noisy =
        !state.stopped_early && state.seconds.size() >= kMinSamples && result.spread > kNoisySpread;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace temper::runner
