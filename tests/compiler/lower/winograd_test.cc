#include "compiler/te/winograd.h"

#include <gtest/gtest.h>

#include "compiler/te/alternatives.h"
#include "tests/support/small_programs.h"

namespace temper::lower {
namespace {

TEST(Winograd, ExistsForConvolutionsOfRankFourOnly) {
  EXPECT_TRUE(te::HasWinograd(ConvBatch(1, 8, 8, 4, 6, 1)));
  EXPECT_FALSE(te::HasWinograd(MatmulBiasRelu(4, 4, 4)));
  EXPECT_FALSE(te::HasWinograd(ConvWithHalo(6, 3, 4)));
  EXPECT_EQ(te::AlternativesOf(ConvBatch(1, 8, 8, 4, 6, 1)).size(), 3u);
  EXPECT_EQ(te::MakeAlternative(MatmulBiasRelu(4, 4, 4), 1).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(te::MakeAlternative(ConvBatch(1, 8, 8, 4, 6, 1), 7).status().code(),
            Code::kFailedPrecondition);
}

TEST(Winograd, IsAValidProgram) {
  for (int alternative : {1, 2}) {
    auto p = te::MakeAlternative(ConvBatch(2, 7, 9, 4, 6, 1), alternative);
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    EXPECT_TRUE(te::Verify(*p).ok()) << te::Verify(*p).ToString();
    EXPECT_EQ(p->stages.size(), 6u);
  }
}

}  // namespace
}  // namespace temper::lower
