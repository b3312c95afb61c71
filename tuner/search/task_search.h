// The search for fast schedules of one task.
//
// A task has a space for each alternative of its program; each breeds its own, and all are ranked
// together. It remembers what was proposed or measured, so that nothing is measured twice, and
// breeds from the fastest measured schedules. Not thread-safe. Deterministic for a seed and the
// same calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/rng.h"
#include "compiler/te/alternatives.h"
#include "costmodel/cost_model.h"
#include "tuner/search/evolution.h"
#include "tuner/space/space.h"

namespace temper::tuner {

struct SearchOptions {
  double random_share = 0.1;  // of the proposals, drawn without the model
  double prior_share = 0.13;  // of the proposals, the prior's choice, lest the model mislead
  double fair_share = 0.25;   // of the proposals, split evenly among the alternatives
  double hint_share = 0.3;    // of the proposals, hints while there are any (Suggest)
  int per_proposal = 12;      // schedules ranked for each that is proposed, at least
};

// One space for each alternative of the program that `numerics` allows, in their order.
std::vector<Space> SpacesOf(const te::Program& program, const Target& target, int threads,
                            te::Numerics numerics = te::kDefaultNumerics,
                            Constants constants = Constants::kCold);

class TaskSearch {
 public:
  // `spaces`: those of one program, one an alternative; not empty.
  TaskSearch(std::vector<Space> spaces, uint64_t seed, const SearchOptions& options = {});

  const te::Program& program() const { return spaces_[0].program(); }
  const std::vector<Space>& spaces() const { return spaces_; }

  // Up to `n` schedules that were neither proposed nor known before, the most promising first,
  // random ones last. Fewer when the space seems exhausted. The first that no hint asks for is the
  // prior's FirstChoice, which is compiled without records: no search ends with a slower one.
  std::vector<Scored> Propose(int n, const costmodel::CostModel& model);

  // A measurement, of a proposal or of any other schedule. Only conclusive outcomes rule the
  // schedule out for good; others may be proposed again.
  void Know(const schedule::Schedule& schedule, Outcome outcome, double us);

  // A decision of one of the spaces that is likely good, such as one of another workload's best.
  // The first ones are proposed themselves, and all of them bred from while little was measured.
  void Suggest(size_t space, Decision decision);

  // No proposal could be found, twice in a row.
  bool exhausted() const { return failures_ >= 2; }

  struct Elite {
    size_t space = 0;  // which of the spaces
    Decision decision;
    double us = 0;
  };
  // Measured schedules of the spaces, fastest first, a limited number.
  const std::vector<Elite>& elites() const { return elites_; }

 private:
  static int Due(double share, int n, double* due);
  std::vector<Scored> Ranked(int n, const costmodel::CostModel& model);
  // The schedule of a decision if it is legal and was not seen; it is seen from then on.
  std::optional<Scored> Fresh(const Space& space, Decision decision,
                              const costmodel::CostModel& model);

  std::vector<Space> spaces_;
  std::vector<Describer> describers_;  // of each space
  SearchOptions options_;
  Rng rng_;
  std::set<Hash> seen_;
  std::vector<Elite> elites_;
  std::vector<Elite> hints_;               // suggested, without times
  size_t next_hint_ = 0;                   // the first that was not proposed
  double random_due_ = 0, prior_due_ = 0;  // what is left of a proposal, 0 to 1
  bool begun_ = false;
  int failures_ = 0;
};

}  // namespace temper::tuner
