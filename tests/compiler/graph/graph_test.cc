#include "compiler/graph/graph.h"

#include <gtest/gtest.h>

#include "compiler/graph/print.h"
#include "compiler/graph/verify.h"

namespace temper::graph {
namespace {

// x -> Relu -> Add(w) -> y, and a dead Neg.
struct Small {
  Graph graph;
  int x, w, relu, add, neg;

  Small() {
    graph.name = "small";
    x = graph.AddInput("x", TensorType(DType::kFloat32, {2, 3}));
    w = graph.AddConstant("w", MakeScalar(1.5f));
    relu = graph.AddNode("Relu", {x}, {"r"}, {}, {"relu0"});
    add = graph.AddNode("Add", {graph.node(relu).outputs[0], w}, {"s"}, {}, {"add0"});
    neg = graph.AddNode("Neg", {x}, {"n"});
    graph.AddOutput(graph.node(add).outputs[0], "y");
  }
};

TEST(GraphTest, PrintsAndVerifies) {
  Small s;
  EXPECT_TRUE(Verify(s.graph).ok());
  EXPECT_EQ(Print(s.graph),
            "graph \"small\" {\n"
            "  input %x: float32[2,3]\n"
            "  const %w: float32[] = 1.5\n"
            "  %r: ? = Relu(%x)  # relu0\n"
            "  %s: ? = Add(%r, %w)  # add0\n"
            "  %n: ? = Neg(%x)\n"
            "  output \"y\": %s\n"
            "}\n");
}

TEST(GraphTest, RemoveDeadAndCompactRenumber) {
  Small s;
  s.graph.AddConstant("unused", MakeScalar(2));
  EXPECT_EQ(s.graph.RemoveDead(), 1);
  EXPECT_FALSE(s.graph.IsAlive(s.neg));
  s.graph.Compact();
  EXPECT_EQ(s.graph.value_count(), 4);
  EXPECT_EQ(s.graph.node_limit(), 2);
  EXPECT_TRUE(Verify(s.graph).ok());
}

TEST(GraphTest, ReplaceUsesReachesOutputs) {
  Small s;
  const int sum = s.graph.node(s.add).outputs[0];
  s.graph.ReplaceUses(sum, s.graph.node(s.relu).outputs[0]);
  EXPECT_EQ(s.graph.outputs()[0], s.graph.node(s.relu).outputs[0]);
  EXPECT_EQ(s.graph.output_names()[0], "y");
  s.graph.RemoveNode(s.add);
  EXPECT_TRUE(Verify(s.graph).ok());
  EXPECT_TRUE(s.graph.value(s.w).uses.empty());
}

TEST(GraphTest, SortFindsCyclesAndKeepsAGoodOrder) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType(DType::kFloat32, {1}));
  const int late = graph.AddNode("Neg", {x}, {"late"});
  const int early = graph.AddNode("Abs", {x}, {"early"});
  graph.SetInput(late, 0, graph.node(early).outputs[0]);
  graph.AddOutput(graph.node(late).outputs[0], "y");
  EXPECT_FALSE(Verify(graph).ok());
  ASSERT_TRUE(graph.Sort());
  EXPECT_EQ(graph.order(), (std::vector<int>{early, late}));
  EXPECT_TRUE(Verify(graph).ok());
  graph.SetInput(early, 0, graph.node(late).outputs[0]);
  EXPECT_FALSE(graph.Sort());
}

TEST(GraphTest, MakeConstantDetachesTheProducer) {
  Small s;
  const int r = s.graph.node(s.relu).outputs[0];
  s.graph.MakeConstant(r, MakeFloats({2, 3}, std::vector<float>(6, 1.0f)));
  EXPECT_EQ(s.graph.node(s.relu).outputs[0], kNone);
  EXPECT_TRUE(Verify(s.graph).ok());
  EXPECT_EQ(s.graph.RemoveDead(), 2);
  EXPECT_NE(s.graph.ConstantInput(s.graph.node(s.add), 0), nullptr);
}

}  // namespace
}  // namespace temper::graph
