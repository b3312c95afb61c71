#include "tuner/search/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

Space SpaceOf(const te::Program& program) {
  return Space::Create(te::Canonicalize(program), *ParseTarget("x86-64-v4"), 1);
}

TEST(FamilyOf, SizesDoNotMatterAndOperatorsDo) {
  auto family = [](const te::Program& p) { return FamilyOf(te::CanonicalText(p)); };
  EXPECT_EQ(family(testing::MatmulBiasRelu(512, 256, 64)),
            family(testing::MatmulBiasRelu(8, 9, 7)));
  EXPECT_EQ(family(testing::Conv({56, 56, 64, 64, 3, 1, 1})),
            family(testing::Conv({28, 28, 128, 96, 3, 1, 1})));
  EXPECT_NE(family(testing::MatmulBiasRelu(64, 64, 64)), family(testing::BatchMatmul(2, 8, 8, 8)));
  EXPECT_NE(family(testing::Softmax(64, 64)), family(testing::LayerNorm(64, 64)));
}

TEST(Translate, KeepsEveryValueThatThereIs) {
  Space from = SpaceOf(testing::MatmulBiasRelu(512, 512, 512));
  Space to = SpaceOf(testing::MatmulBiasRelu(384, 1024, 256));
  Rng rng(1);
  int legal = 0;
  for (int i = 0; i < 50; ++i) {
    Decision decision = from.Sample(rng, 0);
    auto translated = Translate(from, decision, to);
    ASSERT_TRUE(translated.has_value());
    for (size_t k = 0; k < to.knobs().size(); ++k) {
      int64_t value = from.knobs()[k].values[decision[k]];
      const auto& values = to.knobs()[k].values;
      ASSERT_EQ(from.knobs()[k].name, to.knobs()[k].name);
      if (std::find(values.begin(), values.end(), value) != values.end()) {
        EXPECT_EQ(values[(*translated)[k]], value) << to.knobs()[k].name;
      }
    }
    legal += Describe(to, to.Emit(*translated)).ok() ? 1 : 0;
  }
  EXPECT_GT(legal, 40);
}

TEST(Translate, TakesTheNearestOfWhatThereIs) {
  Space from = SpaceOf(testing::MatmulBiasRelu(512, 512, 512));
  Space to = SpaceOf(testing::MatmulBiasRelu(4, 512, 512));
  size_t tile = 0;
  while (from.knobs()[tile].name != "tile1") ++tile;
  Decision decision(from.knobs().size(), 0);
  decision[tile] = static_cast<int>(from.knobs()[tile].values.size()) - 1;
  auto translated = Translate(from, decision, to);
  ASSERT_TRUE(translated.has_value());
  EXPECT_EQ(to.knobs()[tile].values[(*translated)[tile]], 4);
}

}  // namespace
}  // namespace temper::tuner
