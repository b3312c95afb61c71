#include "tuner/search/first_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace temper::tuner {

std::optional<Scored> FirstChoice(std::span<Describer> describers,
                                  const costmodel::CostModel& model, int samples) {
  EvolutionOptions options;
  options.generations = 2;
  options.wild = 0;
  int share = samples / (options.generations + 1) / static_cast<int>(describers.size());
  options.population = std::max(1, share);
  std::optional<Scored> best;
  for (Describer& describer : describers) {
    Rng rng(1);
    std::vector<Scored> scored = Evolve(describer, model, {}, options, rng);
    if (scored.empty() || (best && best->score >= scored[0].score)) continue;
    best = std::move(scored[0]);
  }
  return best;
}

}  // namespace temper::tuner
