#include "compiler/graph/passes/common_subexpressions.h"

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

TEST(CommonSubexpressionsTest, MergesNodesAndConstants) {
  Graph graph;
  const int x = Input(graph, "x", {2});
  const int a = Op(graph, "Mul", {x, Ramp(graph, "c", {2})}, "a");
  const int b = Op(graph, "Mul", {x, Ramp(graph, "d", {2})}, "b");
  const int other = Op(graph, "Mul", {x, Ramp(graph, "e", {2}, 5)}, "other");
  const int sum =
      Op(graph, "Add", {Op(graph, "Relu", {a}, "ra"), Op(graph, "Relu", {b}, "rb")}, "s");
  graph.AddOutput(Op(graph, "Add", {sum, other}, "y"), "y");
  ExpectOk(RunCommonSubexpressions(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Mul Mul Relu Add Add");
  EXPECT_EQ(graph.node(graph.order()[0]).sources, (std::vector<std::string>{"a", "b"}));
}

TEST(CommonSubexpressionsTest, AttributesCount) {
  Graph graph;
  const int x = Input(graph, "x", {2, 2});
  graph.AddOutput(Op(graph, "LeakyRelu", {x}, "a", {{"alpha", 0.1f}}), "a");
  graph.AddOutput(Op(graph, "LeakyRelu", {x}, "b", {{"alpha", 0.2f}}), "b");
  graph.AddOutput(Op(graph, "LeakyRelu", {x}, "c", {{"alpha", 0.1f}}), "c");
  ExpectOk(RunCommonSubexpressions(graph));
  EXPECT_EQ(graph.order().size(), 2u);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[2]);
  EXPECT_EQ(graph.output_names(), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace temper::graph
