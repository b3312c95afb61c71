#include "compiler/te/blocks.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "compiler/te/interpret.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

std::vector<float> Random(int64_t count) {
  Rng rng(1);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out) v = static_cast<float>(rng.Normal());
  return out;
}

std::vector<float> Evaluate(const Program& p, const std::vector<float>& x, size_t results) {
  std::vector<float> y(results);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  Status status = EvaluateProgram(p, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return y;
}

TEST(Blocks, AreConsecutiveAndGiveTheSame) {
  // 80,000 has divisors; 70,001 is a prime, so that the last block is short.
  for (int64_t columns : {80'000, 70'001}) {
    for (bool mean : {true, false}) {
      const Program p =
          Canonicalize(mean ? testing::RowMean(2, columns) : testing::RowMax(2, columns));
      ASSERT_TRUE(HasBlocks(p));
      auto blocks = MakeBlocks(p);
      ASSERT_TRUE(blocks.ok());
      EXPECT_TRUE(Verify(*blocks).ok()) << Verify(*blocks).ToString();
      ASSERT_EQ(blocks->stages.size(), p.stages.size() + 1);
      const Stage& parts = blocks->stages[0];
      const int64_t number = parts.spatial.back().extent, steps = parts.reduce[0].extent;
      EXPECT_GE(number, 8);
      EXPECT_LT((number - 1) * steps, columns);
      EXPECT_EQ(number * steps == columns, columns == 80'000);
      const auto x = Random(2 * columns);
      const auto want = Evaluate(p, x, 2), got = Evaluate(*blocks, x, 2);
      for (int i = 0; i < 2; ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
    }
  }
}

TEST(Blocks, AreOfFewLongReductionsAlone) {
  EXPECT_FALSE(HasBlocks(testing::RowMean(2, 1000)));
  EXPECT_FALSE(HasBlocks(testing::RowMean(1000, 80'000)));
  EXPECT_FALSE(HasBlocks(testing::MatmulBiasRelu(64, 64, 64)));
  EXPECT_EQ(MakeBlocks(testing::RowMean(2, 1000)).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(AlternativesOf(testing::RowMean(2, 80'000)),
            (std::vector{Alternative::kDirect, Alternative::kBlocks}));
}

}  // namespace
}  // namespace temper::te
