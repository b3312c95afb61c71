// The search for fast schedules of one task.
//
// It remembers what was proposed or measured, so that nothing is measured twice, and breeds from
// the fastest measured schedules. Not thread-safe. Deterministic for a seed and the same calls.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "tuner/search/evolution.h"
#include "tuner/space/space.h"

namespace temper::tuner {

struct SearchOptions {
  double random_share = 0.1;  // of the proposals, drawn without the model
  int per_proposal = 12;      // schedules ranked for each that is proposed, at least
};

class TaskSearch {
 public:
  TaskSearch(Space space, uint64_t seed, const SearchOptions& options = {});

  const Space& space() const { return space_; }

  // Up to `n` schedules that were neither proposed nor known before, the most promising first,
  // random ones last. Fewer when the space seems exhausted.
  std::vector<Scored> Propose(int n, const costmodel::CostModel& model);

  // A measurement, of a proposal or of any other schedule. Only conclusive outcomes rule the
  // schedule out for good; others may be proposed again.
  void Know(const schedule::Schedule& schedule, Outcome outcome, double us);

  // No proposal could be found, twice in a row.
  bool exhausted() const { return failures_ >= 2; }

  struct Elite {
    Decision decision;
    double us = 0;
  };
  // Measured schedules of this space, fastest first, a limited number.
  const std::vector<Elite>& elites() const { return elites_; }

 private:
  Space space_;
  SearchOptions options_;
  Rng rng_;
  std::set<Hash> seen_;
  std::vector<Elite> elites_;
  int failures_ = 0;
};

}  // namespace temper::tuner
