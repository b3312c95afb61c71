#include "compiler/te/constants.h"

#include <gtest/gtest.h>

#include "tests/support/programs.h"

namespace temper::te {
namespace {

TEST(LargeConstants, AreThoseThatSomeScheduleMakesAMegabyteOf) {
  EXPECT_TRUE(HasLargeConstants(testing::MatmulBiasRelu(1, 1000, 2048)));
  EXPECT_FALSE(HasLargeConstants(testing::MatmulBiasRelu(1000, 64, 64)));
  // 256 KiB times the four of F(4x4), and a little less.
  EXPECT_TRUE(HasLargeConstants(testing::MatmulBiasRelu(1, 256, 256)));
  EXPECT_FALSE(HasLargeConstants(testing::MatmulBiasRelu(1, 256, 255)));
  EXPECT_FALSE(HasLargeConstants(testing::MatVec(2048, 2048))) << "its matrix is no constant";
}

TEST(LargeConstants, WithoutThemAModelsConstantsDoNotMatter) {
  const Program large = testing::MatmulBiasRelu(1, 1000, 2048), small = testing::Softmax(4, 8);
  EXPECT_EQ(ConstantsOf(large, Constants::kWarm), Constants::kWarm);
  EXPECT_EQ(ConstantsOf(large, Constants::kCold), Constants::kCold);
  EXPECT_EQ(ConstantsOf(small, Constants::kWarm), Constants::kCold);
}

}  // namespace
}  // namespace temper::te
