#include "compiler/te/lane_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "compiler/te/interpret.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

std::vector<float> Random(Rng& rng, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out) v = static_cast<float>(rng.Normal());
  return out;
}

std::vector<float> Evaluate(const Program& p) {
  Rng rng(1);
  std::vector<std::vector<float>> operands;
  std::vector<const void*> inputs;
  for (int id : p.inputs) {
    int64_t n = 1;
    for (int64_t d : p.tensors[id].shape) n *= d;
    operands.push_back(Random(rng, n));
  }
  for (const auto& operand : operands) inputs.push_back(operand.data());
  int64_t n = 1;
  for (int64_t d : p.tensors[p.outputs[0]].shape) n *= d;
  std::vector<float> y(static_cast<size_t>(n));
  void* outputs[] = {y.data()};
  Status status = EvaluateProgram(p, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return y;
}

TEST(LaneSums, AreVectorsOfPartialSumsAndGiveTheSame) {
  struct Case {
    int64_t rows, columns, products, lanes;
  };
  for (const Case& c : {Case{1, 10, 160, 16}, Case{3, 2, 200, 8}, Case{1, 7, 100, 4}}) {
    const Program p = Canonicalize(testing::MatmulBiasRelu(c.rows, c.columns, c.products));
    ASSERT_TRUE(HasLaneSums(p));
    auto sums = MakeAlternative(p, static_cast<int>(Alternative::kLaneSums));
    ASSERT_TRUE(sums.ok());
    EXPECT_TRUE(Verify(*sums).ok()) << Verify(*sums).ToString();
    ASSERT_EQ(sums->stages.size(), p.stages.size() + 1);
    const Stage& parts = sums->stages[0];
    EXPECT_EQ(parts.spatial.back().extent, c.lanes);
    EXPECT_EQ(parts.reduce[0].extent, c.products / c.lanes);
    const auto want = Evaluate(p), got = Evaluate(*sums);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
  }
}

TEST(LaneSums, AreOfFewLongSumsAlone) {
  auto has = [](int64_t rows, int64_t columns, int64_t products) {
    return HasLaneSums(Canonicalize(testing::MatmulBiasRelu(rows, columns, products)));
  };
  EXPECT_TRUE(has(1, 64, 64));
  EXPECT_FALSE(has(1, 65, 64));
  EXPECT_FALSE(has(5, 13, 64));
  EXPECT_FALSE(has(1, 10, 60));
  EXPECT_FALSE(has(1, 10, 101));
  EXPECT_FALSE(HasLaneSums(Canonicalize(testing::RowMean(2, 1024))));
  EXPECT_EQ(MakeLaneSums(testing::RowMean(2, 1024)).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace temper::te
