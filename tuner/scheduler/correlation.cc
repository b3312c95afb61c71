#include "tuner/scheduler/correlation.h"

#include "costmodel/rank.h"

namespace temper::tuner {
namespace {

constexpr double kMemory = 300;  // measurements after which old ones weigh 1/e

}  // namespace

void PredictionTracker::Add(int64_t group, double score, double us) {
  if (!(us > 0)) return;
  open_[group].scores.push_back(score);
  open_[group].speeds.push_back(1 / us);
}

void PredictionTracker::Close(int64_t group) {
  auto it = open_.find(group);
  if (it == open_.end()) return;
  auto n = static_cast<double>(it->second.scores.size());
  if (n >= 4) {
    double keep = 1 - n / (kMemory + n);
    sum_ = sum_ * keep + n * costmodel::RankCorrelation(it->second.scores, it->second.speeds);
    weight_ = weight_ * keep + n;
    count_ += static_cast<int64_t>(n);
  }
  open_.erase(it);
}

}  // namespace temper::tuner
