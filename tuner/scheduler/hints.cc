#include "tuner/scheduler/hints.h"

#include <algorithm>

#include "compiler/te/canonical.h"
#include "tuner/search/transfer.h"

namespace temper::tuner {
namespace {

constexpr size_t kMaxHinting = 6;  // known tasks that a task takes hints from
constexpr size_t kHintsOfOne = 6;  // of each

struct Hint {
  size_t space = 0;  // of the search's
  Decision decision;
};

std::vector<Hint> HintsOf(const KnownTask& known, const Target& target, int threads,
                          const TaskSearch& search) {
  std::vector<const Measured*> fastest;
  for (const Measured& m : known.results) {
    if (m.outcome == Outcome::kOk && m.us > 0) fastest.push_back(&m);
  }
  std::stable_sort(fastest.begin(), fastest.end(),
                   [](const Measured* a, const Measured* b) { return a->us < b->us; });
  const std::vector<Space> theirs = SpacesOf(known.program, target, threads);
  std::vector<Hint> hints;
  for (const Measured* m : fastest) {
    if (hints.size() >= kHintsOfOne) break;
    for (size_t s = 0; s < search.spaces().size(); ++s) {
      for (const Space& space : theirs) {
        if (space.alternative() != search.spaces()[s].alternative()) continue;
        auto decision = space.Extract(m->schedule);
        if (decision) decision = Translate(space, *decision, search.spaces()[s]);
        if (decision) hints.push_back({s, std::move(*decision)});
      }
    }
  }
  return hints;
}

}  // namespace

void SuggestFrom(std::span<const KnownTask> known, const Target& target, int threads,
                 TaskSearch& search) {
  const std::string family = FamilyOf(te::CanonicalText(search.program()));
  std::vector<std::vector<Hint>> hints;  // of each known one
  for (const KnownTask& k : known) {
    if (hints.size() == kMaxHinting) break;
    if (FamilyOf(te::CanonicalText(k.program)) != family) continue;
    hints.push_back(HintsOf(k, target, threads, search));
  }
  for (size_t i = 0; i < kHintsOfOne; ++i) {
    for (std::vector<Hint>& of_one : hints) {
      if (i < of_one.size()) search.Suggest(of_one[i].space, std::move(of_one[i].decision));
    }
  }
}

}  // namespace temper::tuner
