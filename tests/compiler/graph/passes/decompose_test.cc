#include "compiler/graph/passes/decompose.h"

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

TEST(DecomposeTest, CompositionsKeepTheNamesAndTypesOfTheirNode) {
  Graph graph;
  const int x = Input(graph, "x", {1, 4, 2, 3});
  const int y = Op(graph, "InstanceNormalization",
                   {x, Ramp(graph, "scale", {4}), Ramp(graph, "bias", {4})}, "norm");
  graph.AddOutput(y, "y");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Reshape LayerNormalization Reshape Mul Add");
  for (int id : graph.order()) {
    EXPECT_EQ(graph.node(id).sources, std::vector<std::string>{"norm"});
  }
  EXPECT_EQ(graph.type(graph.outputs()[0]).ToString(), "float32[1,4,2,3]");
}

TEST(DecomposeTest, ScalesOfAnAxisBroadcast) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3, 4, 4}, DType::kInt8);
  graph.AddOutput(
      Op(graph, "DequantizeLinear", {x, Ramp(graph, "scale", {3})}, "deq", {{"axis", int64_t{1}}}),
      "y");
  ExpectOk(RunDecompose(graph));
  const Node& node = OnlyNode(graph);
  EXPECT_FALSE(node.Has("axis"));
  EXPECT_EQ(graph.shape(node.inputs[1]), (Shape{1, 3, 1, 1}));
}

TEST(DecomposeTest, NodesWithoutElementsBecomeConstants) {
  Graph graph;
  const int x = Input(graph, "x", {0, 3});
  graph.AddOutput(Op(graph, "Relu", {x}, "relu"), "y");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_TRUE(graph.order().empty());
  EXPECT_EQ(graph.value(graph.outputs()[0]).constant->shape, (Shape{0, 3}));
}

TEST(DecomposeTest, LongRecurrencesStay) {
  for (const int64_t steps : {4, 65}) {
    Graph graph;
    const int x = Input(graph, "x", {steps, 1, 2});
    graph.AddOutput(
        Op(graph, "RNN", {x, Ramp(graph, "w", {1, 3, 2}), Ramp(graph, "r", {1, 3, 3})}, "rnn"),
        "y");
    ExpectOk(RunDecompose(graph));
    EXPECT_EQ(Ops(graph) == "RNN", steps > 64) << Ops(graph);
  }
}

TEST(DecomposeTest, WhatIsNotSupportedIsNamed) {
  Graph graph;
  const int x = Input(graph, "x", {1, 1, 4, 4});
  graph.AddOutput(Op(graph, "Resize", {x, kNone, kNone, IntsConstant(graph, "sizes", {1, 1, 8, 8})},
                     "up", {{"mode", std::string("lanczos")}}),
                  "y");
  ExpectError(RunDecompose(graph), "Resize 'up': mode 'lanczos' is unknown");
}

}  // namespace
}  // namespace temper::graph
