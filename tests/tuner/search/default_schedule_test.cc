#include "tuner/search/default_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

TEST(DefaultSchedule, IsLegalAndNotExpectedToLoseToTheReference) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    Target target = *ParseTarget(name);
    for (const auto& named : testing::SmallPrograms()) {
      te::Program program = te::Canonicalize(named.program);
      schedule::Schedule s = DefaultSchedule(program, target, 1, nullptr, 64);
      EXPECT_EQ(s.workload, te::WorkloadHash(program)) << named.name;
      auto chosen = Describe(program, s, target);
      ASSERT_TRUE(chosen.ok()) << named.name << ": " << chosen.status().ToString();
      auto reference = Describe(program, lower::ReferenceSchedule(program, target), target);
      ASSERT_TRUE(reference.ok());
      EXPECT_LE(chosen->prior_us, reference->prior_us * 1.2) << named.name << " for " << name;
    }
  }
}

TEST(DefaultSchedule, ConvolutionsGetARegisterTile) {
  Target target = *ParseTarget("x86-64-v4");
  te::Program program = te::Canonicalize(testing::Conv({56, 56, 64, 64, 3, 1, 1}));
  schedule::Schedule s = DefaultSchedule(program, target, 1);
  auto lowered = lower::LowerToLoops(program, s, target);
  ASSERT_TRUE(lowered.ok());
  int64_t tile = 0;
  for (const tir::Buffer& b : lowered->function.buffers) {
    if (b.scope == tir::Scope::kRegister) tile = std::max(tile, b.ElementCount());
  }
  EXPECT_GE(tile, 16 * 16);  // at least half the registers
}

TEST(DefaultSchedule, FewLongSumsLieAlongTheVector) {
  Target target = *ParseTarget("x86-64-v4");
  te::Program program = te::Canonicalize(testing::MatmulBiasRelu(1, 10, 4096));
  EXPECT_EQ(DefaultSchedule(program, target, 1).alternative,
            static_cast<int>(te::Alternative::kLaneSums));
}

TEST(DefaultSchedule, IsTheSameEveryTime) {
  Target target = *ParseTarget("x86-64-v3");
  te::Program program = te::Canonicalize(testing::Depthwise({14, 14, 64, 64, 3, 1, 1}));
  EXPECT_TRUE(DefaultSchedule(program, target, 2) == DefaultSchedule(program, target, 2));
}

}  // namespace
}  // namespace temper::tuner
