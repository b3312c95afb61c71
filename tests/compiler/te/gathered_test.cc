#include "compiler/te/gathered.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "compiler/te/interpret.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

int64_t StoredElements(const Tensor& t) {
  int64_t n = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    n *= t.shape[d] + (t.halo_before.empty() ? 0 : t.halo_before[d] + t.halo_after[d]);
  }
  return n;
}

std::vector<float> Evaluate(const Program& p) {
  Rng rng(1);
  std::vector<std::vector<float>> operands;
  std::vector<const void*> inputs;
  for (int id : p.inputs) {
    operands.emplace_back(static_cast<size_t>(StoredElements(p.tensors[id])));
    for (float& v : operands.back()) v = static_cast<float>(rng.Normal());
  }
  for (const auto& operand : operands) inputs.push_back(operand.data());
  std::vector<float> y(static_cast<size_t>(StoredElements(p.tensors[p.outputs[0]])));
  void* outputs[] = {y.data()};
  Status status = EvaluateProgram(p, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return y;
}

// Rows of three and of five results, with the padding as a halo and as a stage.
TEST(Gathered, IsAProductOverAllPixelsAndGivesTheSame) {
  for (const testing::ConvSize& size :
       {testing::ConvSize{6, 6, 64, 64, 3, 2, 1}, testing::ConvSize{4, 5, 64, 64, 3, 1, 1}}) {
    for (bool stage : {false, true}) {
      const Program p = Canonicalize(stage ? testing::PaddedConv(size) : testing::Conv(size));
      ASSERT_TRUE(HasGathered(p));
      auto gathered = MakeAlternative(p, static_cast<int>(Alternative::kGathered));
      ASSERT_TRUE(gathered.ok());
      EXPECT_TRUE(Verify(*gathered).ok()) << Verify(*gathered).ToString();
      ASSERT_EQ(gathered->stages.size(), p.stages.size() + 2);
      for (size_t t = 0; t < p.tensors.size(); ++t) {
        EXPECT_EQ(gathered->tensors[t].shape, p.tensors[t].shape);
      }
      int products = 0;
      for (const Stage& s : gathered->stages) {
        if (s.reduce.empty()) continue;
        ++products;
        ASSERT_EQ(s.spatial.size(), 2u);
        EXPECT_EQ(s.spatial[0].extent, size.stride == 2 ? 9 : 20);
      }
      EXPECT_EQ(products, 1);
      const auto want = Evaluate(p), got = Evaluate(*gathered);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
    }
  }
}

TEST(Gathered, IsOfShortRowsAndManyChannelsAlone) {
  EXPECT_TRUE(HasGathered(Canonicalize(testing::Conv({14, 14, 512, 512, 3, 2, 1}))));
  EXPECT_FALSE(HasGathered(Canonicalize(testing::Conv({34, 34, 64, 64, 3, 2, 1}))));  // 17 a row
  EXPECT_FALSE(HasGathered(Canonicalize(testing::Conv({8, 8, 32, 64, 3, 1, 1}))));
  EXPECT_FALSE(HasGathered(Canonicalize(testing::Conv({8, 8, 64, 32, 3, 1, 1}))));
  EXPECT_FALSE(HasGathered(Canonicalize(testing::Conv({8, 8, 64, 64, 1, 1, 0}))));
  EXPECT_FALSE(HasGathered(Canonicalize(testing::Depthwise({8, 8, 64, 64, 3, 1, 1}))));
  EXPECT_FALSE(HasGathered(Canonicalize(testing::MatmulBiasRelu(64, 64, 64))));
  EXPECT_EQ(MakeGathered(testing::MatmulBiasRelu(64, 64, 64)).status().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace temper::te
