#include "tuner/search/default_schedule.h"

#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "tuner/search/evolution.h"

namespace temper::tuner {

schedule::Schedule DefaultSchedule(const te::Program& program, const Target& target, int threads,
                                   const costmodel::CostModel* model, int samples) {
  auto prior = costmodel::MakePriorModel();
  Space space = Space::Create(program, target, threads);
  EvolutionOptions options;
  options.generations = 2;
  options.population = std::max(1, samples / (options.generations + 1));
  Rng rng(1);
  std::vector<Scored> scored = Evolve(space, model ? *model : *prior, {}, options, rng);
  if (!scored.empty()) return std::move(scored[0].schedule);
  schedule::Schedule reference = lower::ReferenceSchedule(program, target);
  reference.workload = te::WorkloadHash(program);
  return reference;
}

}  // namespace temper::tuner
