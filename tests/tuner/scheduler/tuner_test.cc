#include "tuner/scheduler/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

Target Avx512() { return *ParseTarget("x86-64-v4"); }

std::vector<TunerTask> Tasks() {
  return {{"matmul", te::Canonicalize(testing::MatmulBiasRelu(256, 256, 256)), 1},
          {"conv", te::Canonicalize(testing::Conv({28, 28, 64, 64, 3, 1, 1})), 4},
          {"pool", te::Canonicalize(testing::GlobalAvgPool(7, 7, 64)), 1}};
}

// A machine that is twice as slow as the prior thinks, and refuses some schedules.
Measured Measure(const std::vector<TunerTask>& tasks, const Candidate& c) {
  Measured m{c.task, c.schedule, Outcome::kOk, 0, c.final};
  auto features = Describe(tasks[c.task].program, c.schedule, Avx512());
  EXPECT_TRUE(features.ok());
  Hash hash = schedule::ScheduleHash(c.schedule);
  m.us = 2 * features->prior_us * (1 + hash.bytes[0] / 1024.0);
  if (hash.bytes[1] < 20) {
    m.outcome = Outcome::kCrashed;
    m.us = 0;
  }
  return m;
}

std::unique_ptr<ModelTuner> Make(const std::vector<TunerTask>& tasks, TunerOptions options,
                                 const Clock* clock, std::span<const Measured> records = {}) {
  auto tuner = ModelTuner::Create(tasks, Avx512(), std::move(options), records, clock);
  EXPECT_TRUE(tuner.ok()) << tuner.status().ToString();
  return std::move(*tuner);
}

// Runs to the end; returns everything measured.
std::vector<Measured> RunAll(ModelTuner& tuner, const std::vector<TunerTask>& tasks,
                             FakeClock* clock, int batch = 12) {
  std::vector<Measured> all;
  for (int i = 0; i < 1000 && !tuner.Done(); ++i) {
    std::vector<Measured> results;
    for (const Candidate& c : tuner.Propose(batch)) results.push_back(Measure(tasks, c));
    clock->Advance(0.05 * static_cast<double>(results.size()));
    tuner.Observe(results);
    all.insert(all.end(), results.begin(), results.end());
  }
  EXPECT_TRUE(tuner.Done());
  return all;
}

TEST(ModelTuner, SpendsExactlyItsTrials) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 100;
  auto tuner = Make(tasks, options, &clock);
  auto all = RunAll(*tuner, tasks, &clock);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& m) { return !m.final; }), 100);
  EXPECT_GT(std::count_if(all.begin(), all.end(), [](const auto& m) { return m.final; }), 0);
  TunerState state = tuner->Snapshot();
  EXPECT_EQ(state.trials, 100);
  EXPECT_TRUE(state.final_round);
  int64_t trials = 0;
  double share = 0;
  for (const TaskState& t : state.tasks) {
    EXPECT_GT(t.trials, 0) << t.name;
    EXPECT_GT(t.best_us, 0) << t.name;
    EXPECT_GT(t.gflops, 0) << t.name;
    trials += t.trials;
    share += t.share;
  }
  EXPECT_EQ(trials, 100);
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_GT(state.model_us, 0);
  EXPECT_TRUE(tuner->Propose(8).empty());
}

TEST(ModelTuner, StopsInTime) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.seconds = 20;
  auto tuner = Make(tasks, options, &clock);
  RunAll(*tuner, tasks, &clock);
  EXPECT_GT(clock.NowSeconds(), 15);
  EXPECT_LT(clock.NowSeconds(), 23);
}

TEST(ModelTuner, HeavyTasksGetMoreTrials) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 300;
  auto tuner = Make(tasks, options, &clock);
  RunAll(*tuner, tasks, &clock, 8);
  TunerState state = tuner->Snapshot();
  EXPECT_GT(state.tasks[1].trials, 2 * state.tasks[2].trials);
  EXPECT_GT(state.tasks[1].trials, state.tasks[0].trials);
}

TEST(ModelTuner, NothingIsProposedTwiceNotEvenOfEarlierRuns) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 60;
  auto first = Make(tasks, options, &clock);
  auto records = RunAll(*first, tasks, &clock);
  std::erase_if(records, [](const auto& m) { return m.final; });
  std::set<std::pair<int, Hash>> seen;
  for (const Measured& m : records) {
    EXPECT_TRUE(seen.insert({m.task, schedule::ScheduleHash(m.schedule)}).second);
  }
  auto second = Make(tasks, options, &clock, records);
  // It continues: the best of the records is known before anything is measured.
  for (int t = 0; t < 3; ++t) {
    ASSERT_NE(second->Best(t), nullptr);
    EXPECT_LE(second->Best(t)->us, first->Snapshot().tasks[t].best_us * 1.000001);
  }
  for (const Measured& m : RunAll(*second, tasks, &clock)) {
    if (!m.final) {
      EXPECT_TRUE(seen.insert({m.task, schedule::ScheduleHash(m.schedule)}).second);
    }
  }
}

TEST(ModelTuner, TheSameSeedAndResultsGiveTheSameProposals) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 96;
  auto a = Make(tasks, options, &clock), b = Make(tasks, options, &clock);
  auto from_a = RunAll(*a, tasks, &clock), from_b = RunAll(*b, tasks, &clock);
  ASSERT_EQ(from_a.size(), from_b.size());
  for (size_t i = 0; i < from_a.size(); ++i) {
    EXPECT_EQ(from_a[i].task, from_b[i].task);
    EXPECT_TRUE(from_a[i].schedule == from_b[i].schedule);
  }
}

TEST(ModelTuner, AbandonedCandidatesAreNoTrials) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 16;
  options.final_candidates = 0;
  auto tuner = Make(tasks, options, &clock);
  for (const Candidate& c : tuner->Propose(16)) tuner->Abandon(c);
  EXPECT_FALSE(tuner->Done());
  EXPECT_EQ(tuner->Snapshot().trials, 0);
  auto all = RunAll(*tuner, tasks, &clock);
  EXPECT_EQ(all.size(), 16u);
}

TEST(ModelTuner, TheFinalRoundDecides) {
  FakeClock clock;
  std::vector<TunerTask> tasks = {Tasks()[0]};
  TunerOptions options;
  options.budget.trials = 64;
  auto tuner = Make(tasks, options, &clock);
  std::optional<schedule::Schedule> second;
  int finals = 0;
  for (int i = 0; i < 100 && !tuner->Done(); ++i) {
    std::vector<Measured> results;
    for (const Candidate& c : tuner->Propose(16)) {
      Measured m = Measure(tasks, c);
      if (c.final) {
        // Whoever comes second in turn is suddenly the fastest.
        if (++finals == 2) second = c.schedule;
        m.us = second && c.schedule == *second ? 1 : 2;
      }
      results.push_back(m);
    }
    tuner->Observe(results);
  }
  ASSERT_TRUE(second.has_value());
  ASSERT_NE(tuner->Best(0), nullptr);
  EXPECT_TRUE(tuner->Best(0)->schedule == *second);
  EXPECT_TRUE(tuner->Best(0)->final);
  EXPECT_DOUBLE_EQ(tuner->Best(0)->us, 1);
}

TEST(ModelTuner, AnExhaustedSpaceEnds) {
  FakeClock clock;
  std::vector<TunerTask> tasks = {{"softmax", te::Canonicalize(testing::Softmax(8, 20)), 1}};
  TunerOptions options;
  options.budget.trials = 100000;
  auto tuner = Make(tasks, options, &clock);
  auto all = RunAll(*tuner, tasks, &clock);
  EXPECT_LT(all.size(), 1000u);
}

TEST(ModelTuner, PredictionsCorrelateWithMeasurements) {
  FakeClock clock;
  auto tasks = Tasks();
  TunerOptions options;
  options.budget.trials = 200;
  auto tuner = Make(tasks, options, &clock);
  RunAll(*tuner, tasks, &clock, 16);
  TunerState state = tuner->Snapshot();
  EXPECT_GT(state.correlated, 100);
  EXPECT_GT(state.rank_correlation, 0.2);
  EXPECT_FALSE(tuner->SaveModel().empty());
  TunerOptions warm;
  warm.budget.trials = 8;
  warm.model = tuner->SaveModel();
  EXPECT_NE(Make(tasks, warm, &clock), nullptr);
  warm.model = "not a model";
  EXPECT_FALSE(ModelTuner::Create(tasks, Avx512(), warm, {}, &clock).ok());
}

TEST(ModelTuner, ABrokenProgramIsNamed) {
  FakeClock clock;
  auto tasks = Tasks();
  tasks[1].program.outputs = {999};
  auto tuner = ModelTuner::Create(tasks, Avx512(), {}, {}, &clock);
  ASSERT_FALSE(tuner.ok());
  EXPECT_NE(tuner.status().message().find("conv"), std::string::npos);
}

}  // namespace
}  // namespace temper::tuner
