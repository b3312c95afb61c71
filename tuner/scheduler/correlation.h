// How well the cost model predicted: Spearman's rank correlation over groups of candidates that
// were proposed together for one task.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace temper::tuner {

class PredictionTracker {
 public:
  // A result: `group` numbers the proposal, `score` is what was predicted, `us` what was measured.
  void Add(int64_t group, double score, double us);
  // No more results of that group: its correlation joins the mean, weighted by its size. Groups
  // of fewer than four say nothing and are dropped.
  void Close(int64_t group);

  // Over the last few hundred measurements; 0 before there are any.
  double correlation() const { return weight_ > 0 ? sum_ / weight_ : 0; }
  int64_t count() const { return count_; }

 private:
  struct Group {
    std::vector<double> scores, speeds;
  };
  std::map<int64_t, Group> open_;
  double sum_ = 0, weight_ = 0;
  int64_t count_ = 0;
};

}  // namespace temper::tuner
