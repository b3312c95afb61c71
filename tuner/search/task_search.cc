#include "tuner/search/task_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tuner/search/evaluate.h"
#include "tuner/search/first_choice.h"

namespace temper::tuner {
namespace {

constexpr size_t kMaxElites = 48;
constexpr size_t kManyElites = 24;    // after so many hints are bred from no longer
constexpr int kRandomTries = 20;      // for each random proposal
constexpr int kLeastPopulation = 24;  // of a space in a round
constexpr int kManyRegisters = 24;    // with so many, tiles suit short rows as they are
constexpr int kWideVector = 16;       // in which one column alone wastes much

}  // namespace

std::vector<Space> SpacesOf(const te::Program& program, const Target& target, int threads,
                            te::Numerics numerics, Constants constants) {
  std::vector<Space> spaces;
  for (te::Alternative a : te::AlternativesOf(program, numerics)) {
    if (a == te::Alternative::kBlocks && threads == 1) continue;
    if (a == te::Alternative::kGathered && target.vector_registers >= kManyRegisters) continue;
    if (a == te::Alternative::kLastColumn &&
        (target.vector_registers < kManyRegisters || target.Lanes(4) != kWideVector)) {
      continue;
    }
    spaces.push_back(Space::Create(program, target, threads, static_cast<int>(a), constants));
  }
  return spaces;
}

TaskSearch::TaskSearch(std::vector<Space> spaces, uint64_t seed, const SearchOptions& options)
    : spaces_(std::move(spaces)), options_(options), rng_(seed) {
  for (const Space& space : spaces_) describers_.emplace_back(&space);
}

// What a round of evolution finds in each space, the best of all first; but of every space the
// best `fair_share` of `n` come before, so that no alternative is dropped unmeasured.
std::vector<Scored> TaskSearch::Ranked(int n, const costmodel::CostModel& model) {
  EvolutionOptions evolution;
  int population = n * options_.per_proposal / (evolution.generations + 1);
  auto spaces = static_cast<int>(spaces_.size());
  evolution.population = std::clamp(population / spaces, kLeastPopulation, 512);
  auto fair = static_cast<size_t>(
      spaces == 1 ? 0 : std::lround(std::ceil(n * options_.fair_share / spaces)));
  std::vector<Scored> first, rest;
  for (size_t i = 0; i < spaces_.size(); ++i) {
    std::vector<Decision> parents;
    for (const Elite& elite : elites_) {
      if (elite.space == i) parents.push_back(elite.decision);
    }
    for (const Elite& hint : hints_) {
      if (elites_.size() < kManyElites && hint.space == i) parents.push_back(hint.decision);
    }
    size_t taken = 0;
    for (Scored& s : Evolve(describers_[i], model, parents, evolution, rng_)) {
      bool fresh = seen_.count(schedule::ScheduleHash(s.schedule)) == 0;
      (fresh && taken < fair ? first : rest).push_back(std::move(s));
      if (fresh) ++taken;
    }
  }
  std::stable_sort(rest.begin(), rest.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  std::move(rest.begin(), rest.end(), std::back_inserter(first));
  return first;
}

std::optional<Scored> TaskSearch::Fresh(const Space& space, Decision decision,
                                        const costmodel::CostModel& model) {
  Scored s;
  s.schedule = space.Emit(decision);
  Hash hash = schedule::ScheduleHash(s.schedule);
  if (seen_.count(hash) > 0) return std::nullopt;
  auto features = Describe(space, s.schedule);
  if (!features.ok()) return std::nullopt;
  seen_.insert(hash);
  s.decision = std::move(decision);
  s.features = std::move(*features);
  const costmodel::ProgramFeatures* described = &s.features;
  s.score = model.Predict({&described, 1})[0];
  return s;
}

void TaskSearch::Suggest(size_t space, Decision decision) {
  hints_.push_back({space, std::move(decision), 0});
}

// How many of `n` proposals a share of all comes to, what earlier ones left over included: batches
// are small while a search is young.
int TaskSearch::Due(double share, int n, double* due) {
  *due += share * n;
  const int whole = std::clamp(static_cast<int>(*due + 1e-9), 0, n);
  *due -= whole;
  return whole;
}

std::vector<Scored> TaskSearch::Propose(int n, const costmodel::CostModel& model) {
  std::vector<Scored> chosen;
  if (n <= 0) return chosen;
  const int randoms = Due(options_.random_share, n, &random_due_);
  auto hints = static_cast<int>(std::lround(n * options_.hint_share));
  for (; next_hint_ < hints_.size() && hints > 0; ++next_hint_) {
    const Elite& hint = hints_[next_hint_];
    auto fresh = Fresh(spaces_[hint.space], hint.decision, model);
    if (!fresh) continue;
    chosen.push_back(std::move(*fresh));
    --hints;
  }
  if (!begun_ && static_cast<int>(chosen.size()) < n) {
    begun_ = true;
    auto first = FirstChoice(describers_, *costmodel::MakePriorModel());
    if (first && seen_.insert(schedule::ScheduleHash(first->schedule)).second) {
      const costmodel::ProgramFeatures* described = &first->features;
      first->score = model.Predict({&described, 1})[0];
      chosen.push_back(std::move(*first));
    }
  }
  std::vector<Scored> ranked;
  if (randoms < n) ranked = Ranked(n, model);
  const int priors = Due(options_.prior_share, n, &prior_due_);
  auto take = [&](Scored& s) {
    if (s.schedule.stages.empty()) return;  // taken before
    if (!seen_.insert(schedule::ScheduleHash(s.schedule)).second) return;
    chosen.push_back(std::move(s));
    s.schedule.stages.clear();
  };
  for (Scored& s : ranked) {
    if (static_cast<int>(chosen.size()) >= n - randoms - priors) break;
    take(s);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Scored& a, const Scored& b) {
    return a.features.prior_us < b.features.prior_us;
  });
  for (Scored& s : ranked) {
    if (static_cast<int>(chosen.size()) >= n - randoms) break;
    take(s);
  }
  for (int tries = randoms * kRandomTries; tries > 0 && static_cast<int>(chosen.size()) < n;
       --tries) {
    const Space& space = spaces_[rng_.Uniform(spaces_.size())];
    auto fresh = Fresh(space, space.Sample(rng_, 0.5), model);
    if (fresh) chosen.push_back(std::move(*fresh));
  }
  failures_ = chosen.empty() ? failures_ + 1 : 0;
  return chosen;
}

void TaskSearch::Know(const schedule::Schedule& schedule, Outcome outcome, double us) {
  Hash hash = schedule::ScheduleHash(schedule);
  if (!IsConclusive(outcome)) {
    seen_.erase(hash);
    return;
  }
  seen_.insert(hash);
  if (outcome != Outcome::kOk || !(us > 0)) return;
  if (elites_.size() >= kMaxElites && us >= elites_.back().us) return;
  size_t number = 0;
  while (number < spaces_.size() && spaces_[number].alternative() != schedule.alternative) ++number;
  if (number == spaces_.size()) return;
  auto decision = spaces_[number].Extract(schedule);
  if (!decision) return;
  std::erase_if(elites_,
                [&](const Elite& e) { return e.space == number && e.decision == *decision; });
  auto at = std::upper_bound(elites_.begin(), elites_.end(), us,
                             [](double value, const Elite& e) { return value < e.us; });
  elites_.insert(at, {number, std::move(*decision), us});
  if (elites_.size() > kMaxElites) elites_.pop_back();
}

}  // namespace temper::tuner
