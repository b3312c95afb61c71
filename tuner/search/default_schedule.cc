#include "tuner/search/default_schedule.h"

#include <algorithm>
#include <optional>

#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "tuner/search/evolution.h"
#include "tuner/search/task_search.h"

namespace temper::tuner {

schedule::Schedule DefaultSchedule(const te::Program& program, const Target& target, int threads,
                                   const costmodel::CostModel* model, int samples) {
  auto prior = costmodel::MakePriorModel();
  std::vector<Space> spaces = SpacesOf(program, target, threads);
  EvolutionOptions options;
  options.generations = 2;
  options.wild = 0;
  int share = samples / (options.generations + 1) / static_cast<int>(spaces.size());
  options.population = std::max(1, share);
  std::optional<Scored> best;
  for (const Space& space : spaces) {
    Rng rng(1);
    std::vector<Scored> scored = Evolve(space, model ? *model : *prior, {}, options, rng);
    if (scored.empty() || (best && best->score >= scored[0].score)) continue;
    best = std::move(scored[0]);
  }
  if (best) return std::move(best->schedule);
  schedule::Schedule reference = lower::ReferenceSchedule(program, target);
  reference.workload = te::WorkloadHash(program);
  return reference;
}

}  // namespace temper::tuner
