#include "compiler/schedule/steps.h"

#include <gtest/gtest.h>

#include "tests/support/programs.h"

namespace temper::schedule {
namespace {

Step Split(int stage, int axis, int64_t parts) {
  Step s;
  s.kind = StepKind::kSplitReduction;
  s.target = stage;
  s.axis = axis;
  s.parts = parts;
  return s;
}

TEST(StepsTest, SplitReductionAddsPartialResults) {
  const te::Program p = testing::RowMean(6, 40);
  auto split = ApplySteps(p, {Split(0, 1, 16)});
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  ASSERT_TRUE(te::Verify(*split).ok()) << te::Verify(*split).ToString();
  ASSERT_EQ(split->stages.size(), 3u);
  const te::Stage& parts = split->stages[0];
  EXPECT_EQ(split->tensors[parts.tensor].shape, (std::vector<int64_t>{6, 16}));
  EXPECT_EQ(parts.reduce[0].extent, 3);  // 48 elements, of which the last eight count nothing
  EXPECT_EQ(parts.body->kind(), tir::ExprKind::kSelect);
  const te::Stage& rest = split->stages[1];
  EXPECT_EQ(rest.tensor, p.stages[0].tensor);
  EXPECT_EQ(rest.reduce[0].extent, 16);
  EXPECT_EQ(rest.combiner, te::Combiner::kSum);
}

TEST(StepsTest, SplitsOfSplitsAndDividingParts) {
  auto split = ApplySteps(testing::RowMean(6, 64), {Split(0, 1, 32), Split(1, 1, 8)});
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  ASSERT_TRUE(te::Verify(*split).ok()) << te::Verify(*split).ToString();
  ASSERT_EQ(split->stages.size(), 4u);
  EXPECT_EQ(split->stages[0].body->kind(), tir::ExprKind::kLoad);
  EXPECT_EQ(split->stages[1].reduce[0].extent, 4);
  EXPECT_EQ(split->stages[2].reduce[0].extent, 8);
}

TEST(StepsTest, BadSplitsAreRefused) {
  struct Case {
    Step step;
    const char* message;
  };
  for (const Case& c :
       {Case{Split(5, 1, 16), "no stage 5"}, Case{Split(-1, 1, 16), "no stage -1"},
        Case{Split(0, 0, 4), "no reduction axis 0"}, Case{Split(0, 2, 16), "no reduction axis 2"},
        Case{Split(1, 0, 4), "no reduction axis 0"}, Case{Split(0, 1, 1), "1 parts"},
        Case{Split(0, 1, 80), "80 parts of 40"}, Case{Split(0, 1, 1 << 20), "1048576 parts"}}) {
    auto split = ApplySteps(testing::RowMean(6, 40), {c.step});
    ASSERT_FALSE(split.ok());
    EXPECT_EQ(split.status().code(), Code::kFailedPrecondition);
    EXPECT_NE(split.status().ToString().find(c.message), std::string::npos)
        << split.status().ToString();
  }
}

}  // namespace
}  // namespace temper::schedule
