#include "tuner/search/evolution.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace temper::tuner {
namespace {

constexpr double kCrossShare = 0.25;  // of children
constexpr double kRandomShare = 0.1;  // of later generations

class Evolution {
 public:
  Evolution(Describer& describer, const costmodel::CostModel& model,
            const EvolutionOptions& options, Rng& rng)
      : describer_(describer),
        space_(describer.space()),
        model_(model),
        options_(options),
        rng_(rng) {}

  std::vector<Scored> Run(const std::vector<Decision>& parents) {
    std::vector<Decision> population = First(parents);
    for (int g = 0;; ++g) {
      Score(population);
      if (g == options_.generations || all_.empty()) break;
      population = Next();
    }
    return std::move(all_);
  }

 private:
  std::vector<Decision> First(const std::vector<Decision>& parents) {
    std::vector<Decision> population;
    auto elites = static_cast<int>(options_.elite_share * options_.population);
    for (int i = 0; i < options_.population; ++i) {
      if (!parents.empty() && i < elites) {
        // The better half of the parents is drawn more often; each is there once itself.
        auto n = static_cast<double>(parents.size());
        auto pick = static_cast<size_t>(n * rng_.Uniform01() * rng_.Uniform01());
        population.push_back(
            i < static_cast<int>(parents.size()) ? parents[i] : space_.Mutate(parents[pick], rng_));
      } else {
        population.push_back(space_.Sample(rng_, options_.wild));
      }
    }
    return population;
  }

  std::vector<Decision> Next() {
    // Parents by rank: the chance falls linearly over the best `population`.
    size_t pool = std::min<size_t>(all_.size(), options_.population);
    auto pick = [&]() -> const Decision& {
      double u = 1 - std::sqrt(1 - rng_.Uniform01());
      return all_[std::min(pool - 1, static_cast<size_t>(u * static_cast<double>(pool)))].decision;
    };
    std::vector<Decision> next;
    for (int i = 0; i < options_.population; ++i) {
      double u = rng_.Uniform01();
      if (u < kRandomShare) {
        next.push_back(space_.Sample(rng_, options_.wild));
      } else if (u < kRandomShare + kCrossShare) {
        const Decision& a = pick();
        next.push_back(space_.Cross(a, pick(), rng_));
      } else {
        next.push_back(space_.Mutate(pick(), rng_));
      }
    }
    return next;
  }

  // Adds the legal and new ones of `population` and keeps all sorted.
  void Score(const std::vector<Decision>& population) {
    size_t first = all_.size();
    for (const Decision& decision : population) {
      if (!known_.insert(decision).second) continue;
      schedule::Schedule schedule = space_.Emit(decision);
      auto features = describer_.Describe(schedule);
      if (!features.ok()) continue;
      all_.push_back({decision, std::move(schedule), std::move(*features), 0});
    }
    std::vector<const costmodel::ProgramFeatures*> described;
    for (size_t i = first; i < all_.size(); ++i) described.push_back(&all_[i].features);
    std::vector<double> scores = model_.Predict(described);
    for (size_t i = first; i < all_.size(); ++i) all_[i].score = scores[i - first];
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
  }

  Describer& describer_;
  const Space& space_;
  const costmodel::CostModel& model_;
  const EvolutionOptions& options_;
  Rng& rng_;
  std::set<Decision> known_;
  std::vector<Scored> all_;
};

}  // namespace

std::vector<Scored> Evolve(Describer& describer, const costmodel::CostModel& model,
                           const std::vector<Decision>& parents, const EvolutionOptions& options,
                           Rng& rng) {
  return Evolution(describer, model, options, rng).Run(parents);
}

}  // namespace temper::tuner
