#include "tuner/search/task_search.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

constexpr size_t kMaxElites = 48;
constexpr int kRandomTries = 20;  // for each random proposal

}  // namespace

TaskSearch::TaskSearch(Space space, uint64_t seed, const SearchOptions& options)
    : space_(std::move(space)), options_(options), rng_(seed) {}

std::vector<Scored> TaskSearch::Propose(int n, const costmodel::CostModel& model) {
  std::vector<Scored> chosen;
  if (n <= 0) return chosen;
  EvolutionOptions evolution;
  evolution.population =
      std::clamp(n * options_.per_proposal / (evolution.generations + 1), 48, 512);
  std::vector<Decision> parents;
  for (const Elite& elite : elites_) parents.push_back(elite.decision);
  std::vector<Scored> ranked = Evolve(space_, model, parents, evolution, rng_);
  auto randoms = static_cast<int>(std::lround(n * options_.random_share));
  if (n == 1) randoms = rng_.Chance(options_.random_share) ? 1 : 0;
  for (Scored& s : ranked) {
    if (static_cast<int>(chosen.size()) >= n - randoms) break;
    if (seen_.insert(schedule::ScheduleHash(s.schedule)).second) chosen.push_back(std::move(s));
  }
  for (int tries = randoms * kRandomTries; tries > 0 && static_cast<int>(chosen.size()) < n;
       --tries) {
    Scored s;
    s.decision = space_.Sample(rng_, 0.5);
    s.schedule = space_.Emit(s.decision);
    Hash hash = schedule::ScheduleHash(s.schedule);
    if (seen_.count(hash) > 0) continue;
    auto features = Describe(space_.program(), s.schedule, space_.target());
    if (!features.ok()) continue;
    seen_.insert(hash);
    s.features = std::move(*features);
    const costmodel::ProgramFeatures* described = &s.features;
    s.score = model.Predict({&described, 1})[0];
    chosen.push_back(std::move(s));
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
  auto decision = space_.Extract(schedule);
  if (!decision) return;
  std::erase_if(elites_, [&](const Elite& e) { return e.decision == *decision; });
  auto at = std::upper_bound(elites_.begin(), elites_.end(), us,
                             [](double value, const Elite& e) { return value < e.us; });
  elites_.insert(at, {std::move(*decision), us});
  if (elites_.size() > kMaxElites) elites_.pop_back();
}

}  // namespace temper::tuner
