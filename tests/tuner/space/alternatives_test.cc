#include "compiler/te/alternatives.h"

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/canonical.h"
#include "tests/support/small_programs.h"
#include "tuner/space/space.h"

namespace temper::tuner {
namespace {

TEST(AlternativeSpaces, SamplesOfWinogradLowerAndAreFoundAgain) {
  Target target = *ParseTarget("x86-64-v4");
  te::Program program = te::Canonicalize(lower::ConvBatch(1, 14, 14, 32, 32, 1));
  ASSERT_EQ(te::AlternativesOf(program).size(), 3u);
  for (int alternative : {0, 1, 2}) {
    Space space = Space::Create(program, target, 1, alternative);
    Rng rng(3);
    int lowered = 0;
    for (int i = 0; i < 40; ++i) {
      Decision d = space.Sample(rng);
      schedule::Schedule s = space.Emit(d);
      EXPECT_EQ(s.alternative, alternative);
      auto l = lower::LowerToLoops(program, s, target);
      if (!l.ok()) continue;
      ++lowered;
      auto again = space.Extract(s);
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(space.Emit(*again), s);
    }
    EXPECT_GT(lowered, 25) << "alternative " << alternative << "\n" << space.Describe();
  }
}

}  // namespace
}  // namespace temper::tuner
