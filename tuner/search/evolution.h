// One round of evolution over the describer's space, ranked by a cost model; no measurement.
#pragma once

#include <vector>

#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "tuner/search/evaluate.h"
#include "tuner/space/space.h"

namespace temper::tuner {

struct Scored {
  Decision decision;
  schedule::Schedule schedule;
  costmodel::ProgramFeatures features;
  double score = 0;  // the model's: higher is faster
};

struct EvolutionOptions {
  int population = 128;
  int generations = 3;       // after the first
  double wild = 0.05;        // share of samples that need not fit the registers
  double elite_share = 0.4;  // of the first population, children of `parents`
};

// Every legal schedule met on the way, each decision once, best first. `parents` seed the first
// population and may be empty. Deterministic for a seed.
std::vector<Scored> Evolve(Describer& describer, const costmodel::CostModel& model,
                           const std::vector<Decision>& parents, const EvolutionOptions& options,
                           Rng& rng);
inline std::vector<Scored> Evolve(const Space& space, const costmodel::CostModel& model,
                                  const std::vector<Decision>& parents,
                                  const EvolutionOptions& options, Rng& rng) {
  Describer describer(&space);
  return Evolve(describer, model, parents, options, rng);
}

}  // namespace temper::tuner
