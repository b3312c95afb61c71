#include "base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace temper {
namespace {

// The first numbers of xoshiro256** from this seeding, computed apart from this code: they must
// never change, for a seed in a record stands for a search that can be repeated.
TEST(Rng, NumbersAreFixed) {
  Rng rng(0);
  EXPECT_EQ(rng.Next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(rng.Next(), 0xbf6e1f784956452au);
}

TEST(Rng, UniformCoversItsRangeEvenly) {
  Rng rng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 7000; ++i) ++counts[rng.Uniform(7)];
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Rng, UniformIntTakesTheWholeRange) {
  Rng rng(2);
  bool low = false, high = false;
  for (int i = 0; i < 200; ++i) {
    int64_t value = rng.UniformInt(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    low = low || value == -2;
    high = high || value == 2;
  }
  EXPECT_TRUE(low && high);
  bool negative = false, positive = false;
  for (int i = 0; i < 64; ++i) {
    int64_t value =
        rng.UniformInt(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    negative = negative || value < 0;
    positive = positive || value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, UnitIntervalAndNormal) {
  Rng rng(3);
  double sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < 10000; ++i) {
    double u = rng.Uniform01();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    double n = rng.Normal();
    normal_sum += n;
    normal_squares += n * n;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  EXPECT_NEAR(normal_sum / 10000, 0, 0.05);
  EXPECT_NEAR(normal_squares / 10000, 1, 0.06);
}

TEST(Rng, WeightedFollowsTheWeights) {
  Rng rng(4);
  std::array<int, 4> counts{};
  std::vector<double> weights = {1, 0, 3, std::nan("")};
  for (int i = 0; i < 4000; ++i) ++counts[rng.Weighted(weights)];
  EXPECT_NEAR(counts[0], 1000, 150);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 3000, 150);
  EXPECT_EQ(counts[3], 0);
  EXPECT_LT(rng.Weighted({0, 0}), 2u) << "no positive weight: any index";
}

TEST(Rng, ShuffleIsAPermutationThatMoves) {
  Rng rng(5);
  std::vector<int> items(50);
  for (int i = 0; i < 50; ++i) items[static_cast<size_t>(i)] = i;
  std::vector<int> shuffled = items;
  rng.Shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

TEST(Rng, ForkDependsOnSeedAndStreamOnly) {
  Rng a(6), b(6);
  b.Next();
  EXPECT_EQ(a.Fork(1).Next(), b.Fork(1).Next());
  EXPECT_NE(a.Fork(1).Next(), a.Fork(2).Next());
  EXPECT_NE(a.Fork(0).Next(), Rng(6).Next());
  EXPECT_NE(a.Fork(1).Next(), Rng(7).Fork(1).Next());
}

}  // namespace
}  // namespace temper
