#include "compiler/te/split_groups.h"

#include <gtest/gtest.h>

#include "compiler/te/merge_axes.h"
#include "tests/compiler/te/evaluate.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

using Shape = std::vector<int64_t>;

TEST(SplitGroupsTest, AGroupIsAnAxisAndTheValuesStay) {
  const Program p = testing::GroupedConv({.height = 5, .width = 4, .in = 6, .out = 10}, 2);
  const Program split = SplitGroups(p);
  ASSERT_TRUE(Verify(split).ok()) << Verify(split).ToString();
  EXPECT_EQ(split.tensors[split.outputs[0]].shape, (Shape{1, 5, 4, 2, 5}));
  EXPECT_EQ(split.tensors[split.inputs[0]].shape, (Shape{1, 5, 4, 2, 3}));
  EXPECT_EQ(split.tensors[split.inputs[1]].shape, (Shape{2, 5, 3, 3, 3}));
  EXPECT_EQ(split.tensors[split.inputs[2]].shape, (Shape{2, 5}));
  EXPECT_EQ(Evaluate(split), Evaluate(p));
}

TEST(SplitGroupsTest, PixelsOf1x1AreStillOneAxis) {
  const Program p = testing::GroupedConv(
      {.height = 5, .width = 4, .in = 24, .out = 12, .kernel = 1, .pad = 0}, 3);
  const Program split = SplitGroups(MergeAxes(p));
  EXPECT_EQ(split.tensors[split.outputs[0]].shape, (Shape{1, 20, 3, 4}));
  EXPECT_EQ(Evaluate(split), Evaluate(p));
}

TEST(SplitGroupsTest, OthersStayAsTheyAre) {
  for (const auto& named : testing::SmallPrograms()) {
    if (named.name == "grouped_conv") continue;
    const Program& p = named.program;
    EXPECT_EQ(SplitGroups(p).tensors[p.outputs[0]].shape, p.tensors[p.outputs[0]].shape)
        << named.name;
  }
  // Groups of two results would make vectors of two lanes.
  const Program narrow = testing::GroupedConv({.in = 8, .out = 8}, 4);
  EXPECT_EQ(SplitGroups(narrow).tensors[narrow.outputs[0]].shape.size(), 4u);
}

// y[c] = sum + c: the channel's number is needed whole.
TEST(SplitGroupsTest, AChannelThatIsUsedInAnotherWayForbidsIt) {
  Program p = testing::GroupedConv({.in = 8, .out = 16}, 2);
  Stage& last = p.stages.back();
  last.body = last.body + tir::Cast(DType::kFloat32, last.spatial.back().var);
  ASSERT_TRUE(Verify(p).ok());
  EXPECT_EQ(SplitGroups(p).tensors[p.outputs[0]].shape, p.tensors[p.outputs[0]].shape);
}

}  // namespace
}  // namespace temper::te
