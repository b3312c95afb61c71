#include "compiler/graph/passes/dead_code.h"

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

TEST(DeadCodeTest, RemovesChainsAndConstants) {
  Graph graph;
  const int x = Input(graph, "x", {2});
  Input(graph, "unused", {1});
  const int dead = Op(graph, "Mul", {x, Ramp(graph, "c", {2})}, "dead");
  Op(graph, "Neg", {dead}, "dead2");
  graph.AddOutput(Op(graph, "Relu", {x}, "y"), "y");
  ExpectOk(RunDeadCode(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Relu");
  EXPECT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.value_count(), 3);
}

}  // namespace
}  // namespace temper::graph
