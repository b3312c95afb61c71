#include "compiler/target/machine_rates.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

Target Machine() {
  Target machine;
  machine.l1_bytes = 32 << 10;
  machine.l2_bytes = 1 << 20;
  machine.l3_bytes = 8 << 20;
  return machine;
}

TEST(LevelOf, IsTheNearestThatHoldsTheBytes) {
  EXPECT_EQ(LevelOf(Machine(), 1, 0), Level::kL1);
  EXPECT_EQ(LevelOf(Machine(), 1, 32 << 10), Level::kL1);
  EXPECT_EQ(LevelOf(Machine(), 1, (32 << 10) + 1), Level::kL2);
  EXPECT_EQ(LevelOf(Machine(), 1, 3 << 20), Level::kL3);
  EXPECT_EQ(LevelOf(Machine(), 1, 9 << 20), Level::kMemory);
}

TEST(LevelOf, CoresHaveTheirOwnNearCaches) {
  EXPECT_EQ(LevelOf(Machine(), 4, 100 << 10), Level::kL1);
  EXPECT_EQ(LevelOf(Machine(), 4, 3 << 20), Level::kL2);
  EXPECT_EQ(LevelOf(Machine(), 4, 9 << 20), Level::kMemory);
}

TEST(RateMeter, MeasuresEveryRateOnAnyNumberOfThreads) {
  SystemClock clock;
  for (int threads : {1, 2}) {
    const MachineRates rates = RateMeter(Machine(), threads, 256, clock).Measure();
    EXPECT_GT(rates.gflops, 0);
    for (double rate : rates.gbytes) EXPECT_GT(rate, 0);
  }
}

TEST(RateMeter, MeasuresCopiesOfAnyNumberOfBytes) {
  SystemClock clock;
  for (int threads : {1, 2}) {
    RateMeter meter(Machine(), threads, 256, clock);
    for (double bytes : {1.0, 100.0, 70000.0, 3e6}) EXPECT_GT(meter.MeasureCopy(bytes), 0);
  }
}

}  // namespace
}  // namespace temper
