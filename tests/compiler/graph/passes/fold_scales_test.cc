#include "compiler/graph/passes/fold_scales.h"

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

struct Fixture {
  Graph graph;
  int conv;
  Fixture() {
    const int x = Input(graph, "x", {1, 2, 4, 4});
    conv = Op(graph, "Conv", {x, Ramp(graph, "w", {2, 2, 1, 1})}, "conv");
  }
  void Run(int y) {
    graph.AddOutput(y, "y");
    ExpectOk(RunFoldScales(graph));
    ExpectOk(Verify(graph));
  }
};

TEST(FoldScalesTest, ChainsFold) {
  Fixture f;
  const int a = Op(f.graph, "Mul", {f.conv, Ramp(f.graph, "m", {2, 1, 1}, 2)}, "mul");
  const int b = Op(f.graph, "Add", {Ramp(f.graph, "a", {1, 2, 1, 1}, 5), a}, "add");
  const int c = Op(f.graph, "Div", {b, f.graph.AddConstant("d", MakeScalar(2))}, "div");
  const int d = Op(f.graph, "Sub", {f.graph.AddConstant("s", MakeScalar(1)), c}, "sub");
  f.Run(d);
  const Node& node = OnlyNode(f.graph);
  // Weights 1, 2, 3, 4; channel 0: 1 - (2 w + 5) / 2, channel 1: 1 - (3 w + 6) / 2.
  EXPECT_EQ(f.graph.ConstantInput(node, 1)->AsDoubles(), (std::vector<double>{-1, -2, -4.5, -6}));
  EXPECT_EQ(f.graph.ConstantInput(node, 2)->AsDoubles(), (std::vector<double>{-1.5, -2}));
  EXPECT_EQ(node.sources, (std::vector<std::string>{"conv", "mul", "add", "div", "sub"}));
}

TEST(FoldScalesTest, WhatVariesAlongOtherDimensionsStays) {
  Fixture f;
  f.Run(Op(f.graph, "Mul", {f.conv, Ramp(f.graph, "m", {4})}, "mul"));
  EXPECT_EQ(Ops(f.graph), "Conv Mul");
}

TEST(FoldScalesTest, WhatIsReadElsewhereStays) {
  Fixture f;
  f.graph.AddOutput(f.conv, "conv");
  f.Run(Op(f.graph, "Mul", {f.conv, f.graph.AddConstant("m", MakeScalar(2))}, "mul"));
  EXPECT_EQ(Ops(f.graph), "Conv Mul");
}

TEST(FoldScalesTest, ReciprocalsAndWiderResultsStay) {
  Fixture f;
  const int a = Op(f.graph, "Div", {f.graph.AddConstant("m", MakeScalar(2)), f.conv}, "div");
  f.Run(Op(f.graph, "Add", {a, Ramp(f.graph, "b", {1, 1, 1, 1, 1})}, "add"));
  EXPECT_EQ(Ops(f.graph), "Conv Div Add");
}

}  // namespace
}  // namespace temper::graph
