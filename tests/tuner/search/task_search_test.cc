#include "tuner/search/task_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/schedule/legality.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

Target Avx512() { return *ParseTarget("x86-64-v4"); }

// A made-up machine on which what the prior likes is not quite what is fast: it wants tiles of
// two.
double Time(const Scored& s) {
  double us = s.features.prior_us;
  for (const auto& stage : s.schedule.stages) {
    for (const auto& group : stage.groups) {
      for (int64_t f : group.factors) us *= f == 2 ? 0.4 : 1;
    }
  }
  return us;
}

TEST(TaskSearch, ProposesNothingTwice) {
  TaskSearch search(SpacesOf(te::Canonicalize(testing::MatmulBiasRelu(64, 64, 64)), Avx512(), 1),
                    1);
  auto model = costmodel::MakePriorModel();
  std::set<Hash> seen;
  for (int i = 0; i < 6; ++i) {
    for (const Scored& s : search.Propose(16, *model)) {
      EXPECT_TRUE(seen.insert(schedule::ScheduleHash(s.schedule)).second);
      EXPECT_TRUE(schedule::CheckLegal(search.program(), s.schedule, Avx512()).ok());
    }
  }
  EXPECT_EQ(seen.size(), 96u);
}

TEST(TaskSearch, BeginsWithWhatIsCompiledWithoutRecords) {
  te::Program program = te::Canonicalize(testing::Conv({14, 14, 32, 32, 3, 1, 1}));
  auto model = costmodel::MakeBoostedModel({});
  for (uint64_t seed : {1, 2}) {
    TaskSearch search(SpacesOf(program, Avx512(), 1), seed);
    auto proposed = search.Propose(1, *model);
    ASSERT_EQ(proposed.size(), 1u);
    EXPECT_TRUE(proposed[0].schedule == DefaultSchedule(program, Avx512(), 1));
  }
}

TEST(TaskSearch, KnownSchedulesAreNotProposed) {
  te::Program program = te::Canonicalize(testing::Softmax(64, 64));
  auto model = costmodel::MakePriorModel();
  TaskSearch first(SpacesOf(program, Avx512(), 1), 1);
  TaskSearch second(SpacesOf(program, Avx512(), 1), 1);
  std::set<Hash> known;
  for (const Scored& s : first.Propose(4, *model)) {
    second.Know(s.schedule, Outcome::kWrongResult, 0);
    known.insert(schedule::ScheduleHash(s.schedule));
  }
  for (const Scored& s : second.Propose(8, *model)) {
    EXPECT_EQ(known.count(schedule::ScheduleHash(s.schedule)), 0u);
  }
}

TEST(TaskSearch, AnInfrastructureFaultMayBeTriedAgain) {
  TaskSearch search(SpacesOf(te::Canonicalize(testing::Softmax(8, 20)), Avx512(), 1), 1);
  auto model = costmodel::MakePriorModel();
  std::vector<Scored> all;
  while (!search.exhausted()) {
    for (Scored& s : search.Propose(16, *model)) all.push_back(std::move(s));
  }
  ASSERT_FALSE(all.empty());
  search.Know(all[0].schedule, Outcome::kInfrastructure, 0);
  auto again = search.Propose(16, *model);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].schedule == all[0].schedule);
}

// The best time that twelve rounds of 16 find, over that of what the prior likes best.
double BestFound(costmodel::CostModel& model, uint64_t seed) {
  te::Program program = te::Canonicalize(testing::Conv({28, 28, 64, 64, 3, 2, 1}));
  TaskSearch search(SpacesOf(program, Avx512(), 1), seed);
  double first = 0, best = 1e30;
  for (int round = 0; round < 12; ++round) {
    std::vector<costmodel::Sample> samples;
    for (const Scored& s : search.Propose(16, model)) {
      double us = Time(s);
      if (first == 0) first = us;
      best = std::min(best, us);
      search.Know(s.schedule, Outcome::kOk, us);
      samples.push_back({0, s.features, us});
    }
    EXPECT_TRUE(model.Update(samples).ok());
    if (model.WantsTraining()) {
      EXPECT_TRUE(model.Train().ok());
    }
  }
  EXPECT_FALSE(search.elites().empty());
  if (!search.elites().empty()) {
    EXPECT_DOUBLE_EQ(search.elites()[0].us, best);
  }
  return best / first;
}

TEST(TaskSearch, MeasurementsDriveItToWhatIsFast) {
  double learned = 0, unlearned = 0;
  for (uint64_t seed : {1, 2, 3, 4}) {
    auto model = costmodel::MakeBoostedModel({});
    learned += BestFound(*model, seed) / 4;
    // Mutation of the best measured finds fast schedules by itself, but fewer.
    unlearned += BestFound(*costmodel::MakePriorModel(), seed) / 4;
  }
  EXPECT_LT(learned, 0.3);
  EXPECT_LT(learned, 0.7 * unlearned);
}

TEST(TaskSearch, HintsAreProposedFirstAndOnce) {
  te::Program program = te::Canonicalize(testing::MatmulBiasRelu(128, 128, 128));
  auto model = costmodel::MakePriorModel();
  TaskSearch search(SpacesOf(program, Avx512(), 1), 1);
  Rng rng(9);
  std::vector<Hash> hints;
  for (int i = 0; i < 8; ++i) {
    Decision decision = search.spaces()[0].Sample(rng, 0);
    schedule::Schedule s = search.spaces()[0].Emit(decision);
    if (!Describe(search.spaces()[0], s).ok()) continue;
    hints.push_back(schedule::ScheduleHash(s));
    search.Suggest(0, decision);
    search.Suggest(0, decision);
  }
  ASSERT_GE(hints.size(), 6u);
  std::vector<Hash> proposed;
  for (int round = 0; round < 3; ++round) {
    for (const Scored& s : search.Propose(10, *model)) {
      proposed.push_back(schedule::ScheduleHash(s.schedule));
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(proposed[i], hints[i]);
  for (const Hash& hint : hints) {
    EXPECT_EQ(std::count(proposed.begin(), proposed.end(), hint), 1);
  }
}

TEST(TaskSearch, TheSameSeedAndResultsGiveTheSameProposals) {
  te::Program program = te::Canonicalize(testing::Conv({14, 14, 32, 32, 3, 1, 1}));
  auto model = costmodel::MakePriorModel();
  TaskSearch a(SpacesOf(program, Avx512(), 1), 5), b(SpacesOf(program, Avx512(), 1), 5);
  for (int round = 0; round < 3; ++round) {
    auto from_a = a.Propose(8, *model), from_b = b.Propose(8, *model);
    ASSERT_EQ(from_a.size(), from_b.size());
    for (size_t i = 0; i < from_a.size(); ++i) {
      ASSERT_TRUE(from_a[i].schedule == from_b[i].schedule);
      a.Know(from_a[i].schedule, Outcome::kOk, Time(from_a[i]));
      b.Know(from_b[i].schedule, Outcome::kOk, Time(from_b[i]));
    }
  }
}

}  // namespace
}  // namespace temper::tuner
