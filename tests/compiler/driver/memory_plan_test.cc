#include "compiler/driver/memory_plan.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace temper::driver {
namespace {

void ExpectDisjoint(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      if (buffers[i].last < buffers[j].first || buffers[j].last < buffers[i].first) continue;
      EXPECT_TRUE(plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                  plan.offsets[j] + buffers[j].bytes <= plan.offsets[i])
          << "buffers " << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, NoBuffersNeedNoArena) {
  auto plan = PlanMemory({});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes, 0);
}

TEST(MemoryPlan, AChainUsesTwoPlaces) {
  // Each value is written by step i and read by step i + 1.
  std::vector<BufferLife> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1024, i, i + 1});
  auto plan = PlanMemory(chain);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes, 2048);
  ExpectDisjoint(chain, *plan);
}

TEST(MemoryPlan, AResidualStaysWhileItIsNeeded) {
  std::vector<BufferLife> lives = {{640, 0, 3}, {640, 1, 2}, {640, 2, 3}, {64, 3, 4}};
  auto plan = PlanMemory(lives);
  ASSERT_TRUE(plan.ok());
  ExpectDisjoint(lives, *plan);
  EXPECT_EQ(plan->arena_bytes, 3 * 640);  // the last one takes the place of the second
}

TEST(MemoryPlan, SmallBuffersFillGaps) {
  std::vector<BufferLife> lives = {{4096, 0, 1}, {1024, 2, 5}, {1024, 2, 3}, {2048, 3, 4}};
  auto plan = PlanMemory(lives);
  ASSERT_TRUE(plan.ok());
  ExpectDisjoint(lives, *plan);
  EXPECT_EQ(plan->arena_bytes, 4096);
}

TEST(MemoryPlan, RandomLivesNeverOverlap) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<BufferLife> lives;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(rng.Uniform(40));
      lives.push_back({static_cast<int64_t>(rng.Uniform(5000)), first,
                       first + static_cast<int>(rng.Uniform(8))});
    }
    auto plan = PlanMemory(lives);
    ASSERT_TRUE(plan.ok());
    ExpectDisjoint(lives, *plan);
    EXPECT_EQ(PlanMemory(lives)->offsets, plan->offsets);
  }
}

TEST(MemoryPlan, RefusesWhatNoMachineHas) {
  auto plan = PlanMemory({{int64_t{1} << 60, 0, 1}});
  EXPECT_EQ(plan.status().code(), Code::kResourceExhausted);
  const std::vector<BufferLife> two = {{int64_t{1} << 45, 0, 1}, {(int64_t{1} << 45) + 64, 0, 1}};
  EXPECT_EQ(PlanMemory(two).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace temper::driver
