#include "compiler/graph/passes/fold_constants.h"

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

}  // namespace
}  // namespace temper::graph
