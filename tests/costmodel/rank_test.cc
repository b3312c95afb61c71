#include "costmodel/rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace temper::costmodel {
namespace {

TEST(Rank, OrderAloneCounts) {
  std::vector<double> a = {1, 2, 3, 4}, b = {1, 10, 100, 1000}, c = {4, 3, 2, 1};
  EXPECT_DOUBLE_EQ(RankCorrelation(a, b), 1);
  EXPECT_DOUBLE_EQ(RankCorrelation(a, c), -1);
}

TEST(Rank, TiesShareTheirRank) {
  std::vector<double> a = {1, 2, 2, 3}, b = {1, 2, 3, 4};
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: covariance 4.5 of deviations 4.5 and 5.
  EXPECT_NEAR(RankCorrelation(a, b), 4.5 / std::sqrt(4.5 * 5), 1e-12);
}

TEST(Rank, NothingToSayIsZero) {
  std::vector<double> one = {1}, flat = {2, 2, 2}, three = {1, 2, 3};
  EXPECT_EQ(RankCorrelation(one, one), 0);
  EXPECT_EQ(RankCorrelation(flat, three), 0);
}

}  // namespace
}  // namespace temper::costmodel
