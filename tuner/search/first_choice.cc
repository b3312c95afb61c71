#include "tuner/search/first_choice.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tuner/search/leading_axis.h"

namespace temper::tuner {
namespace {

constexpr int kClimb = 256;     // mutations of the best that are looked at
constexpr double kSame = 0.02;  // of the prior's score, the logarithm of the time

// Improves one candidate, as long as another is better.
class Climber {
 public:
  Climber(Describer& describer, const costmodel::CostModel& model, Scored start)
      : describer_(describer), model_(model), best_(std::move(start)), tried_({best_.decision}) {}

  // The best with each nest in turn as any other candidate has it: estimates of nests add up, so
  // that what is best of each is best together, and chance seldom draws it so. Nests that were
  // described once cost little.
  void ExchangeNests(const std::vector<Scored>& donors) {
    const std::vector<Knob>& knobs = describer_.space().knobs();
    for (size_t first = 0, last = 0; first < knobs.size(); first = last) {
      while (last < knobs.size() && knobs[last].nest == knobs[first].nest) ++last;
      if (last - first == knobs.size()) break;  // no other nest
      for (const Scored& donor : donors) {
        Decision decision = best_.decision;
        for (size_t k = first; k < last; ++k) decision[k] = donor.decision[k];
        Try(std::move(decision));
      }
    }
  }

  void Mutate(Rng& rng) {
    for (int i = 0; i < kClimb; ++i) Try(describer_.space().Mutate(best_.decision, rng));
  }

  // Among orders of loops whose estimates differ by no more than the prior can tell, the one that
  // shares the result out as the kernels around this one do.
  void ShareOutAlike() {
    const std::vector<Knob>& knobs = describer_.space().knobs();
    const double enough = best_.score - kSame;
    int rank = RankOf(best_.schedule);
    for (size_t k = 0; k < knobs.size() && rank > 0; ++k) {
      if (knobs[k].name != "order") continue;
      const Decision start = best_.decision;
      for (size_t value = 0; value < knobs[k].values.size(); ++value) {
        Decision decision = start;
        decision[k] = static_cast<int>(value);
        std::optional<Scored> other = Score(std::move(decision));
        if (!other || other->score < enough) continue;
        const int others = RankOf(other->schedule);
        if (others > rank || (others == rank && other->score <= best_.score)) continue;
        rank = others;
        best_ = *std::move(other);
      }
    }
  }

  Scored Take() { return std::move(best_); }

 private:
  int RankOf(const schedule::Schedule& schedule) const {
    return LeadingAxisRank(describer_.space().alternative_program(), schedule);
  }

  std::optional<Scored> Score(Decision decision) {
    schedule::Schedule schedule = describer_.space().Emit(decision);
    auto features = describer_.Describe(schedule);
    if (!features.ok()) return std::nullopt;
    const costmodel::ProgramFeatures* described[] = {&*features};
    const double score = model_.Predict(described)[0];
    return Scored{std::move(decision), std::move(schedule), *std::move(features), score};
  }

  void Try(Decision decision) {
    if (!tried_.insert(decision).second) return;
    std::optional<Scored> scored = Score(std::move(decision));
    if (scored && scored->score > best_.score) best_ = *std::move(scored);
  }

  Describer& describer_;
  const costmodel::CostModel& model_;
  Scored best_;
  std::set<Decision> tried_;
};

}  // namespace

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
    if (scored.empty()) continue;
    Climber climber(describer, model, scored[0]);
    // How threads share work out matters to each nest, and to how it is tiled.
    if (describer.space().threads() > 1) {
      climber.ExchangeNests(scored);
      climber.Mutate(rng);
      climber.ShareOutAlike();
    }
    Scored found = climber.Take();
    if (!best || best->score < found.score) best = std::move(found);
  }
  return best;
}

}  // namespace temper::tuner
