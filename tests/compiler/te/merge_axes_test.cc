#include "compiler/te/merge_axes.h"

#include <gtest/gtest.h>

#include "tests/compiler/te/evaluate.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

using Shape = std::vector<int64_t>;

TEST(MergeAxesTest, ComputesTheSameBytes) {
  for (const auto& named : testing::SmallPrograms()) {
    const Program merged = MergeAxes(named.program);
    ASSERT_TRUE(Verify(merged).ok()) << named.name << ": " << Verify(merged).ToString();
    EXPECT_EQ(Evaluate(merged), Evaluate(named.program)) << named.name;
    for (size_t t = 0; t < merged.tensors.size(); ++t) {
      EXPECT_EQ(Elements(merged.tensors[t]), Elements(named.program.tensors[t])) << named.name;
    }
  }
}

Shape OutputShape(const Program& p) { return p.tensors[p.outputs[0]].shape; }

TEST(MergeAxesTest, PixelsOfAConvolutionOf1x1BecomeOneAxis) {
  const Program p = MergeAxes(testing::Conv({7, 7, 32, 64, 1, 1, 0}));
  EXPECT_EQ(OutputShape(p), (Shape{1, 49, 64}));
  EXPECT_EQ(p.tensors[p.inputs[0]].shape, (Shape{1, 49, 32}));
}

TEST(MergeAxesTest, AChainOfElementsBecomesOneAxisButForWhatIsBroadcast) {
  EXPECT_EQ(OutputShape(MergeAxes(testing::ElementwiseChain({2, 3, 5, 18}))), (Shape{30, 18}));
}

TEST(MergeAxesTest, ReductionAxesMergeToo) {
  const Program p = MergeAxes(testing::IntRowSum(5, 6, 7));
  EXPECT_EQ(p.tensors[p.inputs[0]].shape, (Shape{5, 42}));
  ASSERT_EQ(p.stages[0].reduce.size(), 1u);
  EXPECT_EQ(p.stages[0].reduce[0].extent, 42);
}

// Windows, halos, conditions and transposed reads keep their axes.
TEST(MergeAxesTest, AxesThatAreUsedAloneStay) {
  for (const Program& p : {testing::Conv({7, 6, 3, 10, 3, 1, 1}), testing::Pad(4, 5, 2),
                           testing::BatchMatmul(2, 5, 17, 6), testing::MatmulBiasRelu(7, 20, 9),
                           testing::Conv({9, 8, 3, 8, 1, 2, 0}), testing::Softmax(5, 21)}) {
    EXPECT_EQ(OutputShape(MergeAxes(p)), OutputShape(p)) << p.name;
  }
  Program square;  // y[i, j] = x[i, j] + x[j, i]
  const int x = square.AddInput("x", DType::kFloat32, {6, 6});
  Stage s;
  s.name = "y";
  for (const char* name : {"i", "j"}) s.spatial.push_back({square.NewVar(name), 6});
  const tir::Expr i = s.spatial[0].var, j = s.spatial[1].var;
  const tir::Expr straight[] = {i, j}, crossed[] = {j, i};
  s.body = square.Read(x, straight) + square.Read(x, crossed);
  square.outputs = {square.AddStage(std::move(s))};
  EXPECT_EQ(OutputShape(MergeAxes(square)), (Shape{6, 6}));
}

// A part of a concatenation's channels: between pixels lie others' elements, at one distance.
// y[i, j, k] = x[i, j, k + i / 2], i below 2: the last index names i, but is k.
TEST(MergeAxesTest, WhatAddsNothingToAnIndexGoes) {
  Program p;
  const int x = p.AddInput("x", DType::kFloat32, {2, 3, 4});
  Stage s;
  s.name = "y";
  for (int64_t extent : {2, 3, 4}) s.spatial.push_back({p.NewVar("i"), extent});
  const tir::Expr i = s.spatial[0].var;
  const tir::Expr indices[] = {i, s.spatial[1].var,
                               s.spatial[2].var + tir::FloorDiv(i, tir::Expr(2))};
  s.body = p.Read(x, indices);
  p.outputs = {p.AddStage(std::move(s))};
  const Program merged = MergeAxes(p);
  ASSERT_TRUE(Verify(merged).ok()) << Verify(merged).ToString();
  EXPECT_EQ(OutputShape(merged), (Shape{24}));
  EXPECT_EQ(Evaluate(merged), Evaluate(p));
}

TEST(MergeAxesTest, PixelsOfAPartBecomeOneAxis) {
  Program p = testing::Conv({7, 7, 32, 64, 1, 1, 0});
  Tensor& x = p.tensors[p.inputs[0]];
  x.halo_before = {0, 0, 0, 16};
  x.halo_after = {0, 0, 0, 4};
  const Program merged = MergeAxes(p);
  const Tensor& part = merged.tensors[merged.inputs[0]];
  EXPECT_EQ(part.shape, (Shape{1, 49, 32}));
  EXPECT_EQ(part.halo_before, (Shape{0, 0, 16}));
  EXPECT_EQ(part.halo_after, (Shape{0, 0, 4}));
  EXPECT_EQ(Evaluate(merged), Evaluate(p));
}

// b[j, k] ties two overlapping pairs of axes to one pair of dimensions.
TEST(MergeAxesTest, OverlappingPairsAreLeftAlone) {
  Program p;
  const int b = p.AddInput("b", DType::kFloat32, {4, 4});
  Stage s;
  s.name = "y";
  for (const char* name : {"i", "j", "k"}) s.spatial.push_back({p.NewVar(name), 4});
  const tir::Expr i = s.spatial[0].var, j = s.spatial[1].var, k = s.spatial[2].var;
  const tir::Expr first[] = {i, j}, second[] = {j, k};
  s.body = p.Read(b, first) + p.Read(b, second);
  p.outputs = {p.AddStage(std::move(s))};
  const Program merged = MergeAxes(p);
  ASSERT_TRUE(Verify(merged).ok());
  EXPECT_EQ(Evaluate(merged), Evaluate(p));
}

}  // namespace
}  // namespace temper::te
