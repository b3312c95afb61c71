#include "tuner/server/timing_watch.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace temper::tuner {
namespace {

constexpr double kTurnUs = 1600;   // a turn is of so much work at least,
constexpr double kSampleUs = 200;  // where a sample is of so much
constexpr size_t kMaxTurns = 400;
constexpr size_t kLeastTurns = 20;  // before a run says anything of its times

double Middle(std::vector<double> values) {
  auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

bool Positive(double v) { return std::isfinite(v) && v > 0; }

}  // namespace

void TimingWatch::Add(const proto::CandidateResult& result, double control_gflops) {
  const bool timed =
      result.outcome() == proto::OUTCOME_OK || result.outcome() == proto::OUTCOME_TOO_NOISY;
  if (!timed || result.stopped_early()) return;
  if (!Positive(result.median_us()) || !Positive(result.drift()) || !Positive(control_gflops)) {
    return;
  }
  const double us = result.median_us() / result.drift();
  const double of_turn = std::ceil(kTurnUs / std::clamp(us, kSampleUs, kTurnUs));
  const auto length = static_cast<int>(of_turn);
  for (int first = 0; first + length <= result.samples_size(); first += length) {
    std::vector<double> samples(result.samples().begin() + first,
                                result.samples().begin() + first + length);
    if (!std::all_of(samples.begin(), samples.end(), Positive)) return;
    turns_.push_back({Middle(std::move(samples)) / us, control_gflops / result.drift()});
    if (turns_.size() > kMaxTurns) turns_.pop_front();
  }
}

void TimingWatch::Add(const proto::Disturbance& d) {
  if (!Positive(d.timed_seconds()) || !(d.switches() >= 0) || !std::isfinite(d.switches())) return;
  timed_seconds_ += d.timed_seconds();
  switches_ += d.switches();
  if (!(d.stolen() >= 0 && d.stolen() <= 1)) return;
  stolen_ += d.stolen();
  ++stolen_reports_;
}

Steadiness TimingWatch::Judge() const {
  if (turns_.size() < kLeastTurns) return {};
  Disturbance disturbance;
  if (timed_seconds_ > 0) disturbance.switches_a_second = switches_ / timed_seconds_;
  if (stolen_reports_ > 0) disturbance.stolen = stolen_ / stolen_reports_;
  return JudgeSteadiness(std::vector(turns_.begin(), turns_.end()), disturbance);
}

}  // namespace temper::tuner
