#include "base/clock.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(FakeClock, MovesOnlyWhenTold) {
  FakeClock clock(5, 1000);
  EXPECT_EQ(clock.NowSeconds(), 5);
  clock.Advance(1.5);
  clock.SleepSeconds(0.5);
  EXPECT_EQ(clock.NowSeconds(), 7);
  EXPECT_EQ(clock.UnixMillis(), 3000);
  clock.Advance(-1);
  EXPECT_EQ(clock.NowSeconds(), 7);
}

TEST(SystemClock, NeverGoesBackAndSleeps) {
  SystemClock clock;
  double before = clock.NowSeconds();
  clock.SleepSeconds(-1);
  clock.SleepSeconds(0.002);
  EXPECT_GE(clock.NowSeconds() - before, 0.002);
  EXPECT_GT(clock.UnixMillis(), 1'600'000'000'000);
}

}  // namespace
}  // namespace temper
