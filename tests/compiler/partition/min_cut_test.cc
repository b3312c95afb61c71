#include "compiler/partition/min_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace temper::partition {
namespace {

struct TestEdge {
  int from, to;
  double capacity, back;
};

double CostOf(const std::vector<TestEdge>& edges, const std::vector<bool>& on_source_side) {
  double cost = 0;
  for (const TestEdge& e : edges) {
    if (on_source_side[e.from] && !on_source_side[e.to]) cost += e.capacity;
    if (!on_source_side[e.from] && on_source_side[e.to]) cost += e.back;
  }
  return cost;
}

// Against all partings of small random networks.
TEST(MinCut, IsTheCheapestWithTheFewestOnTheSinksSide) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    constexpr int kNodes = 8;  // 0 is the source, 1 the sink
    std::vector<TestEdge> edges;
    for (int i = 0; i < 16; ++i) {
      const int from = static_cast<int>(rng.Uniform(kNodes));
      const int to = static_cast<int>(rng.Uniform(kNodes));
      if (from == to) continue;
      edges.push_back(
          {from, to, static_cast<double>(rng.Uniform(5)), static_cast<double>(rng.Uniform(3))});
    }
    MinCut cut(2);
    while (cut.AddNode() + 1 < kNodes) {
    }
    for (const TestEdge& e : edges) cut.AddEdge(e.from, e.to, e.capacity, e.back);
    const std::vector<bool> got = cut.Solve(0, 1);
    ASSERT_TRUE(got[0]);
    ASSERT_FALSE(got[1]);
    double least = MinCut::kInfinite;
    size_t fewest = kNodes;
    for (unsigned bits = 0; bits < 1u << (kNodes - 2); ++bits) {
      std::vector<bool> sides{true, false};
      for (int n = 2; n < kNodes; ++n) sides.push_back((bits >> (n - 2) & 1) != 0);
      const double cost = CostOf(edges, sides);
      const auto sinks = static_cast<size_t>(std::count(sides.begin(), sides.end(), false));
      if (cost > least || (cost == least && sinks >= fewest)) continue;
      least = cost;
      fewest = sinks;
    }
    EXPECT_EQ(CostOf(edges, got), least) << "round " << round;
    EXPECT_EQ(static_cast<size_t>(std::count(got.begin(), got.end(), false)), fewest);
  }
}

TEST(MinCut, InfiniteEdgesKeepNodesTogether) {
  MinCut cut(2);
  const int a = cut.AddNode(), b = cut.AddNode();
  cut.AddEdge(0, a, 1);
  cut.AddEdge(a, 1, 3);
  cut.AddEdge(0, b, 5);
  cut.AddEdge(b, a, MinCut::kInfinite);
  // By itself `a` would be on the sink's side, for 1 in place of 3; b, for 5, would have to follow.
  const std::vector<bool> sides = cut.Solve(0, 1);
  EXPECT_TRUE(sides[a]);
  EXPECT_TRUE(sides[b]);
}

}  // namespace
}  // namespace temper::partition
