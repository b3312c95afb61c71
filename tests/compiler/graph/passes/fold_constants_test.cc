#include "compiler/graph/passes/fold_constants.h"

#include <string>

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

TEST(FoldConstantsTest, FoldsChains) {
  Graph graph;
  const int x = Input(graph, "x", {2});
  const int sum = Op(graph, "Add", {Ramp(graph, "a", {2}), Ramp(graph, "b", {1}, 10)}, "sum");
  const int root = Op(graph, "Neg", {sum}, "neg");
  graph.AddOutput(Op(graph, "Mul", {x, root}, "y"), "y");
  ExpectOk(RunFoldConstants(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(graph.ConstantInput(OnlyNode(graph), 1)->AsDoubles(), (std::vector<double>{-11, -12}));
}

TEST(FoldConstantsTest, GrowthIsBounded) {
  Graph graph;
  const int shape = IntsConstant(graph, "s", {kMaxGrowthBytes});
  graph.AddOutput(Op(graph, "ConstantOfShape", {shape}, "y"), "y");
  ExpectOk(RunFoldConstants(graph));
  EXPECT_EQ(Ops(graph), "ConstantOfShape");
}

// Light models have weights made by ConstantOfShape, and no kernel computes it.
TEST(FoldConstantsTest, FillsMayBeLarger) {
  Graph graph;
  const int shape = IntsConstant(graph, "s", {kMaxFoldedBytes / 2});  // floats
  graph.AddOutput(Op(graph, "ConstantOfShape", {shape}, "y"), "y");
  ExpectOk(RunFoldConstants(graph));
  EXPECT_TRUE(graph.order().empty());
}

// Each result is as large as its two operands, which are one value: it grows all the same.
TEST(FoldConstantsTest, DoublingIsBounded) {
  Graph graph;
  int value = Ramp(graph, "c", {1 << 18});
  for (int i = 0; i < 10; ++i) {
    value = Op(graph, "Concat", {value, value}, "c" + std::to_string(i), {{"axis", int64_t{0}}});
  }
  graph.AddOutput(value, "y");
  ExpectOk(RunFoldConstants(graph));
  int64_t bytes = 0;
  for (int id = 0; id < graph.value_count(); ++id) {
    const Value& v = graph.value(id);
    if (v.IsConstant() && !v.uses.empty()) bytes += v.constant->bytes();
  }
  EXPECT_GT(bytes, kMaxFoldedBytes / 4);
  EXPECT_LE(bytes, kMaxFoldedBytes + (2 << 20));
}

// A value that others read too is no room for what one of them becomes.
TEST(FoldConstantsTest, CopiesAreBounded) {
  Graph graph;
  const int weight = Ramp(graph, "w", {1 << 10, 1 << 10});
  for (int i = 0; i < 40; ++i) {
    const std::string name = "t" + std::to_string(i);
    graph.AddOutput(Op(graph, "Transpose", {weight}, name, {{"perm", std::vector<int64_t>{1, 0}}}),
                    name);
  }
  ExpectOk(RunFoldConstants(graph));
  EXPECT_EQ(graph.order().size(), 40u - (kMaxFoldedBytes + (4 << 20)) / (4 << 20));
}

}  // namespace
}  // namespace temper::graph
