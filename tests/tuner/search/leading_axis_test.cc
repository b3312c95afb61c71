#include "tuner/search/leading_axis.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"

namespace temper::tuner {
namespace {

using schedule::Bind;

// [columns, rows] of a [rows, columns] tensor.
te::Program Transposed(int64_t rows, int64_t columns) {
  te::Program p;
  int x = p.AddInput("x", DType::kFloat32, {rows, columns});
  te::Stage stage;
  stage.name = "out";
  stage.spatial = {{p.NewVar("i"), columns}, {p.NewVar("j"), rows}};
  const tir::Expr indices[] = {stage.spatial[1].var, stage.spatial[0].var};
  stage.body = p.Read(x, indices);
  p.outputs = {p.AddStage(std::move(stage))};
  return te::Canonicalize(p);
}

// Its loops in tiles of 16 x 16, with the group `first` outermost, `parallel` of them parallel.
schedule::Schedule Tiled(const te::Program& program, int first, int parallel) {
  schedule::Schedule s;
  s.workload = te::WorkloadHash(program);
  s.threads = 2;
  schedule::StageSchedule stage;
  stage.groups = {{{0}, {16}}, {{1}, {16}}};
  stage.order = {{first, 0, Bind::kParallel},
                 {1 - first, 0, parallel > 1 ? Bind::kParallel : Bind::kSerial},
                 {0, 1},
                 {1, 1}};
  stage.scope = tir::Scope::kParam;
  s.stages = {stage};
  return s;
}

TEST(LeadingAxis, OfACopyIsTheLonger) {
  te::Program wide = Transposed(3136, 64);
  EXPECT_EQ(LeadingAxisRank(wide, Tiled(wide, 1, 1)), 0);
  EXPECT_EQ(LeadingAxisRank(wide, Tiled(wide, 0, 2)), 1);
  te::Program deep = Transposed(64, 2048);
  EXPECT_EQ(LeadingAxisRank(deep, Tiled(deep, 0, 2)), 0);
  EXPECT_EQ(LeadingAxisRank(deep, Tiled(deep, 1, 2)), 1);
}

TEST(LeadingAxis, LoopsOfOneTripDoNotCount) {
  te::Program p = Transposed(3136, 16);
  EXPECT_EQ(LeadingAxisRank(p, Tiled(p, 0, 2)), 0);  // the loop over the rows shares out
  EXPECT_EQ(LeadingAxisRank(p, Tiled(p, 0, 1)), 0);  // nothing does
}

TEST(LeadingAxis, IsTakenWhereTheEstimateIsTheSame) {
  const Target target = *ParseTarget("x86-64-v4");
  std::vector<te::Program> programs = {Transposed(12544, 32), Transposed(3136, 64)};
  programs.push_back(te::Canonicalize(testing::Conv({112, 112, 16, 64, 3, 1, 2})));
  programs.push_back(te::Canonicalize(testing::MatmulBiasRelu(256, 256, 256)));
  for (const te::Program& program : programs) {
    schedule::Schedule s = DefaultSchedule(program, target, 2);
    ASSERT_EQ(s.alternative, 0);
    EXPECT_EQ(LeadingAxisRank(program, s), 0);
  }
}

}  // namespace
}  // namespace temper::tuner
