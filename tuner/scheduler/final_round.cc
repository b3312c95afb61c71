#include "tuner/scheduler/final_round.h"

#include <algorithm>
#include <numeric>

namespace temper::tuner {
namespace {

double MeanOf(const Finalist& f) {
  return std::accumulate(f.final_us.begin(), f.final_us.end(), 0.0) /
         static_cast<double>(f.final_us.size());
}

}  // namespace

FinalRound::FinalRound(std::vector<std::vector<Finalist>> finalists,
                       const std::vector<double>& worth, int max_turns)
    : finalists_(std::move(finalists)) {
  std::vector<size_t> order(finalists_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return worth[a] > worth[b]; });
  for (size_t task : order) {
    size_t count = finalists_[task].size();
    if (count < 2) continue;  // nothing to decide
    if (turns() + static_cast<int>(count) * kFinalTurns > max_turns) continue;
    for (int turn = 0; turn < kFinalTurns; ++turn) {
      for (size_t f = 0; f < count; ++f) {
        turns_.push_back({static_cast<int>(task), static_cast<int>(f)});
      }
    }
  }
}

bool FinalRound::Next(Turn* turn) {
  if (next_ == turns_.size()) return false;
  *turn = turns_[next_++];
  ++pending_;
  return true;
}

void FinalRound::Report(int task, const schedule::Schedule& schedule, double us) {
  if (pending_ > 0) --pending_;
  if (!(us > 0) || task < 0 || task >= static_cast<int>(finalists_.size())) return;
  for (Finalist& f : finalists_[task]) {
    if (f.schedule == schedule) f.final_us.push_back(us);
  }
}

const Finalist* FinalRound::Winner(int task) const {
  const Finalist* winner = nullptr;
  for (const Finalist& f : finalists_[task]) {
    if (f.final_us.empty()) continue;
    if (!winner || MeanOf(f) < MeanOf(*winner)) winner = &f;
  }
  return winner;
}

}  // namespace temper::tuner
