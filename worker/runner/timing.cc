#include "worker/runner/timing.h"

#include <algorithm>
#include <cmath>

namespace temper::runner {
namespace {

// Surely slower: even the fastest sample is behind the incumbent by so much.
constexpr double kClearlySlower = 1.15;
constexpr double kFarSlower = 1.6;      // one sample is enough then
constexpr double kFarSlowerCold = 2.5;  // of a first run, which also maps memory
constexpr double kLongRun = 1e-3;       // seconds of a run that is a sample by itself
constexpr double kSlowerLong1 = 1.3;    // of one such sample
constexpr double kSlowerLong2 = 1.05;   // of two
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
  double once = 0;  // seconds of the run that warms up
  double spent = 0;
  bool long_runs = false;
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
  const double long_limit = state.seconds.size() >= 2 ? kSlowerLong2 : kSlowerLong1;
  if (state.long_runs && best_us > options.incumbent_us * long_limit) return true;
  return state.seconds.size() >= kFewSamples && best_us > options.incumbent_us * kClearlySlower;
}

// Whether the very first run says enough of a kernel.
bool IsHopeless(double first_seconds, const std::vector<double>& controls,
                const TimingOptions& options) {
  if (options.precise || options.incumbent_us <= 0 || first_seconds < kLongRun) return false;
  const double drift = controls.empty() ? 1 : Median(controls) / options.control_reference_seconds;
  return first_seconds * 1e6 / drift > options.incumbent_us * kFarSlowerCold;
}

bool KnownWellEnough(const State& state, const TimingOptions& options, double share) {
  size_t n = state.seconds.size();
  if (n >= kMaxSamples) return true;
  // A slow kernel's single runs are long samples already.
  if (state.spent >= 8 * share || (state.spent >= share && n >= kFewSamples)) return true;
  // Two long runs that agree need no third.
  if (state.long_runs && state.spent >= share && n == 2) {
    const double least = std::min(state.seconds[0], state.seconds[1]);
    if (std::abs(state.seconds[0] - state.seconds[1]) <= options.min_relative_error * least) {
      return true;
    }
  }
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
  std::vector<double> controls;  // of a round
  auto run_controls = [&](double round_seconds) {
    controls.clear();
    if (options.control_reference_seconds <= 0) return;
    const double most = kControlShare * round_seconds / options.control_reference_seconds;
    const int runs = static_cast<int>(std::clamp(most, 1.0, 1.0 * kMaxControls));
    for (int i = 0; i < runs; ++i) controls.push_back(control());
  };
  auto take = [&](State& state, double seconds) {
    state.seconds.push_back(seconds);
    state.controls.insert(state.controls.end(), controls.begin(), controls.end());
    if (CannotWin(state, options)) state.done = state.stopped_early = true;
    if (KnownWellEnough(state, options, share)) state.done = true;
  };
  bool busy = false;
  double first_round = 0;
  for (double seconds : options.first_seconds) first_round += seconds;
  if (!kernels.empty()) run_controls(first_round);
  for (size_t i = 0; i < kernels.size(); ++i) {
    State& state = states[i];
    const double first = i < options.first_seconds.size() ? options.first_seconds[i] : 0;
    if (IsHopeless(first, controls, options)) {
      take(state, first);
      state.done = state.stopped_early = true;
      continue;
    }
    state.once = std::max(kernels[i](1), 1e-9);  // warms caches and predictors, too
    state.spent += state.once;
    state.runs =
        static_cast<int>(std::clamp(std::ceil(options.sample_seconds / state.once), 1.0, 10000.0));
    state.long_runs = state.once >= kLongRun && !options.precise;
    if (state.long_runs) take(state, state.once);
    busy = busy || !state.done;
  }
  while (busy) {
    busy = false;
    double round = 0;
    for (const State& state : states) round += state.done ? 0 : state.once * state.runs;
    run_controls(round);
    for (size_t i = 0; i < kernels.size(); ++i) {
      State& state = states[i];
      if (state.done) continue;
      double seconds = std::max(kernels[i](state.runs), 1e-9);
      state.spent += seconds;
      take(state, seconds / state.runs);
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
