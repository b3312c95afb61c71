#include "compiler/graph/passes/fuse_layer_norm.h"

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

struct Fixture {
  Graph graph;
  int x = Input(graph, "x", {2, 3, 4});
  int axes = IntsConstant(graph, "axes", {2});

  int Scalar(float v) { return graph.AddConstant("c", MakeScalar(v)); }
  int Mean(int of, const std::string& name, int64_t keep = 1) {
    return Op(graph, "ReduceMean", {of, axes}, name, {{"keepdims", keep}});
  }
  int Centred() { return Op(graph, "Sub", {x, Mean(x, "mean")}, "sub"); }
  // sqrt(mean(square) + epsilon)
  int Deviation(int square) {
    const int variance = Mean(square, "variance");
    return Op(graph, "Sqrt", {Op(graph, "Add", {variance, Scalar(0.5f)}, "eps")}, "root");
  }
  void Run(int y) {
    graph.AddOutput(y, "y");
    ExpectOk(RunFuseLayerNorm(graph));
    ExpectOk(Verify(graph));
  }
};

TEST(FuseLayerNormTest, TheWholeFormula) {
  Fixture f;
  const int d = f.Centred();
  const int n =
      Op(f.graph, "Div", {d, f.Deviation(Op(f.graph, "Pow", {d, f.Scalar(2)}, "pow"))}, "div");
  const int scaled = Op(f.graph, "Mul", {Ramp(f.graph, "scale", {1, 1, 4}), n}, "mul");
  f.Run(Op(f.graph, "Add", {scaled, Ramp(f.graph, "bias", {4}, 7)}, "add"));
  const Node& node = OnlyNode(f.graph);
  EXPECT_EQ(node.op, "LayerNormalization");
  EXPECT_EQ(node.Int("axis", -1), 2);
  EXPECT_EQ(node.Float("epsilon", 0), 0.5f);
  EXPECT_EQ(f.graph.ConstantInput(node, 1)->shape, (Shape{4}));
  EXPECT_EQ(f.graph.ConstantInput(node, 1)->AsDoubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(f.graph.ConstantInput(node, 2)->AsDoubles(), (std::vector<double>{7, 8, 9, 10}));
  EXPECT_EQ(node.sources, (std::vector<std::string>{"mean", "sub", "pow", "variance", "eps", "root",
                                                    "div", "mul", "add"}));
}

TEST(FuseLayerNormTest, NotOverRowsWhoseScaleWouldFillTheMemory) {
  Fixture f;
  f.x = Input(f.graph, "rows", {1, 1, int64_t{1} << 38});
  const int d = f.Centred();
  f.Run(Op(f.graph, "Div", {d, f.Deviation(Op(f.graph, "Mul", {d, d}, "mul"))}, "div"));
  EXPECT_EQ(Ops(f.graph), "ReduceMean Sub Mul ReduceMean Add Sqrt Div");
}

TEST(FuseLayerNormTest, AProductWithAReciprocalAndNoScale) {
  Fixture f;
  const int d = f.Centred();
  const int root = f.Deviation(Op(f.graph, "Mul", {d, d}, "square"));
  f.Run(Op(f.graph, "Mul", {Op(f.graph, "Reciprocal", {root}, "inverse"), d}, "mul"));
  const Node& node = OnlyNode(f.graph);
  EXPECT_EQ(node.op, "LayerNormalization");
  EXPECT_EQ(f.graph.ConstantInput(node, 1)->AsDoubles(), (std::vector<double>(4, 1)));
  EXPECT_FALSE(node.HasInput(2));
}

TEST(FuseLayerNormTest, AScaleOfAnotherShapeOrReadTwiceStays) {
  Fixture f;
  const int d = f.Centred();
  const int n = Op(f.graph, "Div", {d, f.Deviation(Op(f.graph, "Mul", {d, d}, "square"))}, "div");
  const int rows = Op(f.graph, "Mul", {n, Ramp(f.graph, "rows", {3, 1})}, "rows");
  f.graph.AddOutput(Op(f.graph, "Relu", {n}, "relu"), "relu");
  f.Run(rows);
  EXPECT_EQ(Ops(f.graph), "LayerNormalization Mul Relu");
}

TEST(FuseLayerNormTest, WhatIsNoNormalizationStays) {
  // The square of something else; a mean of other dimensions; dimensions dropped.
  {
    Fixture f;
    const int d = f.Centred();
    const int root = f.Deviation(Op(f.graph, "Mul", {f.x, f.x}, "square"));
    f.Run(Op(f.graph, "Div", {d, root}, "div"));
    EXPECT_EQ(Ops(f.graph).find("LayerNormalization"), std::string::npos);
  }
  {
    Fixture f;
    const int d = f.Centred();
    const int square = Op(f.graph, "Mul", {d, d}, "square");
    f.axes = IntsConstant(f.graph, "axes", {1});
    f.Run(Op(f.graph, "Div", {d, f.Deviation(square)}, "div"));
    EXPECT_EQ(Ops(f.graph).find("LayerNormalization"), std::string::npos);
  }
  {
    Fixture f;
    f.axes = IntsConstant(f.graph, "axes", {1});
    const int d = f.Centred();
    f.Run(Op(f.graph, "Div", {d, f.Deviation(Op(f.graph, "Mul", {d, d}, "square"))}, "div"));
    EXPECT_EQ(Ops(f.graph).find("LayerNormalization"), std::string::npos);
  }
}

}  // namespace
}  // namespace temper::graph
