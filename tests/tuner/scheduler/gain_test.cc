#include "tuner/scheduler/gain.h"

#include <gtest/gtest.h>

#include "tuner/scheduler/correlation.h"
#include "tuner/scheduler/final_round.h"

namespace temper::tuner {
namespace {

TaskProgress Progress(double weight, double us, int64_t trials) {
  TaskProgress t;
  t.weight = weight;
  t.flops = us * 1e3;  // it runs at 1 GFLOP/s
  t.expected_us = us;
  t.trials = trials;
  t.best.assign(trials, us);
  return t;
}

TEST(Gain, HeavierAndLessTriedTasksPromiseMore) {
  EXPECT_GT(ExpectedGain(Progress(2, 100, 50), 10), ExpectedGain(Progress(1, 100, 50), 10));
  EXPECT_GT(ExpectedGain(Progress(1, 100, 50), 10), ExpectedGain(Progress(1, 100, 100), 10));
  EXPECT_GT(ExpectedGain(Progress(1, 200, 50), 10), ExpectedGain(Progress(1, 100, 50), 10));
}

TEST(Gain, WhatGainedLatelyPromisesMore) {
  TaskProgress flat = Progress(1, 100, 64), falling = flat;
  for (int i = 0; i < 48; ++i) falling.best[i] = 200;
  EXPECT_GT(ExpectedGain(falling, 10), ExpectedGain(flat, 10));
}

TEST(Gain, PicksNewTasksFirstAndNeverExhaustedOnes) {
  TaskProgress a = Progress(1, 100, 10), b = Progress(1, 10, 0), c = Progress(1, 1000, 10);
  Rng rng(1);
  EXPECT_EQ(PickTask({&a, &b, &c}, rng), 1);
  b.exhausted = c.exhausted = true;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(PickTask({&a, &b, &c}, rng), 0);
  a.exhausted = true;
  EXPECT_EQ(PickTask({&a, &b, &c}, rng), -1);
}

TEST(PredictionTracker, WeighsGroupsBySizeAndDropsSmallOnes) {
  PredictionTracker tracker;
  for (int i = 0; i < 8; ++i) tracker.Add(1, i, 100 - i);
  for (int i = 0; i < 3; ++i) tracker.Add(2, i, 100 + i);
  tracker.Close(1);
  tracker.Close(2);
  EXPECT_DOUBLE_EQ(tracker.correlation(), 1);
  EXPECT_EQ(tracker.count(), 8);
}

TEST(FinalRound, TurnsAlternateAndTheMeanWins) {
  schedule::Schedule x, y;
  x.threads = 1;
  y.threads = 2;
  FinalRound round({{{x, 10, {}}, {y, 11, {}}}, {{x, 5, {}}}}, {1, 1}, 100);
  EXPECT_EQ(round.turns(), 2 * kFinalTurns);  // the second task has nothing to decide
  FinalRound::Turn turn;
  for (int i = 0; round.Next(&turn); ++i) {
    EXPECT_EQ(turn.finalist, i % 2);
    round.Report(turn.task, round.finalist(turn).schedule, turn.finalist == 0 ? 12 : 11);
  }
  EXPECT_TRUE(round.done());
  ASSERT_NE(round.Winner(0), nullptr);
  EXPECT_TRUE(round.Winner(0)->schedule == y);
  EXPECT_EQ(round.Winner(1), nullptr);
}

TEST(FinalRound, TheHeaviestTasksComeFirstWhereTurnsAreFew) {
  schedule::Schedule x, y;
  x.threads = 1;
  y.threads = 2;
  std::vector<Finalist> two = {{x, 10, {}}, {y, 11, {}}};
  FinalRound round({two, two, two}, {1, 3, 2}, 4 * kFinalTurns + 1);
  std::vector<int> tasks;
  FinalRound::Turn turn;
  while (round.Next(&turn)) tasks.push_back(turn.task);
  ASSERT_EQ(tasks.size(), 4u * kFinalTurns);
  EXPECT_EQ(tasks.front(), 1);
  EXPECT_EQ(tasks.back(), 2);
  EXPECT_EQ(FinalRound({two}, {1}, 0).turns(), 0);
}

}  // namespace
}  // namespace temper::tuner
