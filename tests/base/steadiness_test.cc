#include "base/steadiness.h"

#include <gtest/gtest.h>

#include <vector>

namespace temper {
namespace {

std::vector<TimedTurn> Turns(int count, double us, double gflops) {
  return std::vector<TimedTurn>(count, TimedTurn{us, gflops});
}

TEST(Steadiness, SteadyTimesArePromised) {
  auto turns = Turns(10, 100, 200);
  for (size_t i = 0; i < turns.size(); ++i) turns[i].us += static_cast<double>(i % 3);
  Steadiness s = JudgeSteadiness(turns, {});
  EXPECT_EQ(s.warning, "");
  EXPECT_LT(s.within, 0.02);
  EXPECT_DOUBLE_EQ(s.gflops, 200);
  EXPECT_NEAR(s.normalized_us, 101, 1);
}

TEST(Steadiness, ACoreThatSlowsDownWithTheWorkIsNoScatter) {
  std::vector<TimedTurn> turns;
  for (int i = 0; i < 12; ++i) turns.push_back({100.0 + 5 * i, 200 * 100 / (100.0 + 5 * i)});
  Steadiness s = JudgeSteadiness(turns, {});
  EXPECT_EQ(s.warning, "");
  EXPECT_LT(s.within, 1e-9);
}

TEST(Steadiness, TheWarningHasTheReason) {
  auto turns = Turns(10, 100, 200);
  for (size_t i = 0; i < 5; ++i) turns[i].us = 130;
  Steadiness s = JudgeSteadiness(turns, {});
  EXPECT_GT(s.within, kPromised);
  EXPECT_NE(s.warning.find("shared with others"), std::string::npos) << s.warning;
  s = JudgeSteadiness(turns, {.switches_a_second = 90});
  EXPECT_NE(s.warning.find("90 times a second"), std::string::npos) << s.warning;
  s = JudgeSteadiness(turns, {.switches_a_second = 2, .stolen = 0.12});
  EXPECT_NE(s.warning.find("12 %"), std::string::npos) << s.warning;
  for (size_t i = 0; i < 5; ++i) turns[i].gflops = 250;
  s = JudgeSteadiness(turns, {});
  EXPECT_NE(s.warning.find("from 200 to 250"), std::string::npos) << s.warning;
}

TEST(Steadiness, AFewTurnsPromiseNothing) {
  EXPECT_NE(JudgeSteadiness(Turns(2, 100, 200), {}).warning, "");
  EXPECT_EQ(JudgeSteadiness(Turns(2, 100, 200), {}).within, 1);
  EXPECT_NE(JudgeSteadiness({}, {}).warning, "");
}

TEST(DisturbanceMeter, CountsOnlyWhatComesAfterItsMaking) {
  FakeClock clock;
  DisturbanceMeter meter(clock);
  clock.Advance(1e6);
  Disturbance d = meter.Read();
  EXPECT_GE(d.switches_a_second, 0);
  EXPECT_LT(d.switches_a_second, 1);
  EXPECT_GE(d.stolen, 0);
  EXPECT_LE(d.stolen, 1);
}

}  // namespace
}  // namespace temper
