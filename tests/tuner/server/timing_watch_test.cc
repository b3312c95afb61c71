#include "tuner/server/timing_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace temper::tuner {
namespace {

constexpr double kGflops = 100;  // of the control at a drift of 1

// A result whose samples are `us` and, of every other turn of eight, `other_us`.
proto::CandidateResult Result(double us, double other_us, double drift = 1) {
  proto::CandidateResult result;
  result.set_outcome(proto::OUTCOME_OK);
  for (int i = 0; i < 64; ++i) {
    result.add_samples(static_cast<float>(i / 8 % 2 == 0 ? us : other_us));
  }
  result.set_median_us(us);
  result.set_drift(drift);
  return result;
}

proto::Disturbance Disturbed(double switches, double stolen) {
  proto::Disturbance d;
  d.set_timed_seconds(2);
  d.set_switches(switches);
  d.set_stolen(stolen);
  return d;
}

void AddMany(TimingWatch& watch, const proto::CandidateResult& result) {
  for (int i = 0; i < 10; ++i) watch.Add(result, kGflops);
}

TEST(TimingWatch, SteadyTimesOfDifferentKernelsGiveNoWarning) {
  TimingWatch watch;
  AddMany(watch, Result(100, 101));
  AddMany(watch, Result(700, 703));
  Steadiness verdict = watch.Judge();
  EXPECT_EQ(verdict.warning, "");
  EXPECT_GT(verdict.within, 0);
  EXPECT_LT(verdict.within, 0.01);
}

TEST(TimingWatch, ACoreThatSlowsDownIsNoScatter) {
  TimingWatch watch;
  // A third slower in the course of the run, the control with it.
  for (int i = 0; i < 30; ++i) watch.Add(Result(100 + i, 100 + i, 1 + i * 0.01), kGflops);
  EXPECT_EQ(watch.Judge().warning, "");
}

TEST(TimingWatch, ANoisyMachineIsToldWithTheReason) {
  TimingWatch watch;
  AddMany(watch, Result(100, 130));
  EXPECT_GT(watch.Judge().within, kPromised);
  EXPECT_NE(watch.Judge().warning.find("shared with others"), std::string::npos);
  watch.Add(Disturbed(2, 0.3));
  EXPECT_NE(watch.Judge().warning.find("30 %"), std::string::npos) << watch.Judge().warning;
  watch.Add(Disturbed(198, 0.3));  // 200 in 4 s
  EXPECT_NE(watch.Judge().warning.find("50 times a second"), std::string::npos)
      << watch.Judge().warning;
}

TEST(TimingWatch, AControlThatChangesIsTheReason) {
  TimingWatch watch;
  for (int i = 0; i < 20; ++i) watch.Add(Result(100, 130, i % 2 == 0 ? 1 : 2), kGflops);
  EXPECT_NE(watch.Judge().warning.find("from 50 to 100 GFLOP/s"), std::string::npos)
      << watch.Judge().warning;
}

TEST(TimingWatch, AKernelOfManyMillisecondsMakesATurnOfEachRun) {
  TimingWatch watch;
  proto::CandidateResult result;
  result.set_outcome(proto::OUTCOME_OK);
  for (float us : {8000.0F, 8000.0F, 12000.0F}) result.add_samples(us);
  result.set_median_us(8000);
  result.set_drift(1);
  AddMany(watch, result);
  EXPECT_NEAR(watch.Judge().within, 0.25, 1e-9);
}

TEST(TimingWatch, AFewResultsOrNoneOfUseSayNothing) {
  TimingWatch watch;
  EXPECT_EQ(watch.Judge().within, 0);
  watch.Add(Result(100, 200), kGflops);
  EXPECT_EQ(watch.Judge().within, 0);
  auto stopped = Result(100, 200);
  stopped.set_stopped_early(true);
  AddMany(watch, stopped);
  auto failed = Result(100, 200);
  failed.set_outcome(proto::OUTCOME_CRASHED);
  AddMany(watch, failed);
  auto hostile = Result(100, 200);
  hostile.set_outcome(proto::OUTCOME_TOO_NOISY);
  hostile.set_drift(-1);
  AddMany(watch, hostile);
  EXPECT_EQ(watch.Judge().within, 0);
  EXPECT_EQ(watch.Judge().warning, "");
}

}  // namespace
}  // namespace temper::tuner
