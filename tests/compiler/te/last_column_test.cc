#include "compiler/te/last_column.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "tests/compiler/te/evaluate.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

TEST(LastColumn, IsApartAndGivesTheSame) {
  for (const Program& program :
       {testing::BatchMatmul(3, 5, 17, 32), testing::BatchMatmul(1, 7, 49, 48)}) {
    const Program p = Canonicalize(program);
    ASSERT_TRUE(HasLastColumn(p));
    auto apart = MakeAlternative(p, static_cast<int>(Alternative::kLastColumn));
    ASSERT_TRUE(apart.ok());
    EXPECT_TRUE(Verify(*apart).ok()) << Verify(*apart).ToString();
    ASSERT_EQ(apart->stages.size(), p.stages.size() + 3);
    for (size_t t = 0; t < p.tensors.size(); ++t) {
      EXPECT_EQ(apart->tensors[t].shape, p.tensors[t].shape);
    }
    EXPECT_EQ(apart->stages[0].spatial.back().extent % 16, 0);
    EXPECT_EQ(apart->stages[2].spatial.size() + 1, apart->stages[3].spatial.size());
    const auto want = Evaluate(p), got = Evaluate(*apart);
    ASSERT_EQ(got[0].size(), want[0].size());
    for (size_t i = 0; i < want[0].size(); i += 4) {
      float a, b;
      std::memcpy(&a, &want[0][i], 4);
      std::memcpy(&b, &got[0][i], 4);
      EXPECT_NEAR(a, b, 1e-4) << i / 4;
    }
  }
}

TEST(LastColumn, IsOfOneColumnMoreThanVectorsAlone) {
  EXPECT_TRUE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 49, 49, 32))));
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 49, 48, 32))));
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 49, 50, 32))));
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 3, 49, 32))));    // few rows
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 49, 49, 24))));   // short sums
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::BatchMatmul(8, 49, 257, 32))));  // many vectors
  EXPECT_FALSE(HasLastColumn(Canonicalize(testing::MatmulBiasRelu(64, 49, 64))));   // a weight
  EXPECT_EQ(MakeLastColumn(testing::MatmulBiasRelu(64, 64, 64)).status().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace temper::te
