#include "compiler/graph/passes/fold_batch_norm.h"

#include <cmath>

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

int BatchNorm(Graph& graph, int x, int64_t channels) {
  return Op(graph, "BatchNormalization",
            {x, Ramp(graph, "gamma", {channels}, 2), Ramp(graph, "beta", {channels}, 0.5f),
             Ramp(graph, "mean", {channels}, -1), Ramp(graph, "var", {channels}, 4, 5)},
            "bn", {{"epsilon", 0.25f}});
}
// Of channel c: k and beta - mean * k.
double Scale(int c) { return (2.0 + c) / std::sqrt(4.0 + 5 * c + 0.25); }
double Shift(int c) { return 0.5 + c - (-1.0 + c) * Scale(c); }

TEST(FoldBatchNormTest, IntoConvWithBias) {
  Graph graph;
  const int x = Input(graph, "x", {1, 2, 4, 4});
  const int w = Ramp(graph, "w", {3, 2, 1, 1});
  const int conv = Op(graph, "Conv", {x, w, Ramp(graph, "b", {3}, 10)}, "conv");
  graph.AddOutput(BatchNorm(graph, conv, 3), "y");
  ExpectOk(RunFoldBatchNorm(graph));
  ExpectOk(Verify(graph));
  const Node& node = OnlyNode(graph);
  EXPECT_EQ(node.sources, (std::vector<std::string>{"conv", "bn"}));
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_FLOAT_EQ(graph.ConstantInput(node, 1)->Load<float>(2 * c + i),
                      (1 + 2 * c + i) * Scale(c));
    }
    EXPECT_FLOAT_EQ(graph.ConstantInput(node, 2)->Load<float>(c), (10 + c) * Scale(c) + Shift(c));
  }
}

TEST(FoldBatchNormTest, IntoGroupedConvTransposeAndGemm) {
  Graph graph;
  // Two groups of [2 in, 2 out]: output channel = group * 2 + column.
  const int x = Input(graph, "x", {1, 4, 3});
  const int t =
      Op(graph, "ConvTranspose", {x, Ramp(graph, "w", {4, 2, 1})}, "t", {{"group", int64_t{2}}});
  graph.AddOutput(BatchNorm(graph, t, 4), "y");
  const int m = Input(graph, "m", {5, 3});
  const int g = Op(graph, "Gemm", {m, Ramp(graph, "v", {3, 2}), Ramp(graph, "c", {1, 2})}, "g",
                   {{"alpha", 0.5f}, {"beta", 3.0f}});
  graph.AddOutput(BatchNorm(graph, g, 2), "z");
  ExpectOk(RunFoldBatchNorm(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "ConvTranspose Gemm");
  const Node& transposed = graph.node(graph.order()[0]);
  for (int i = 0; i < 8; ++i) {
    EXPECT_FLOAT_EQ(graph.ConstantInput(transposed, 1)->Load<float>(i),
                    (1 + i) * Scale(i / 4 * 2 + i % 2));
  }
  EXPECT_FLOAT_EQ(graph.ConstantInput(transposed, 2)->Load<float>(3), Shift(3));
  const Node& gemm = graph.node(graph.order()[1]);
  EXPECT_FLOAT_EQ(graph.ConstantInput(gemm, 1)->Load<float>(3), 4 * 0.5 * Scale(1));
  EXPECT_FLOAT_EQ(graph.ConstantInput(gemm, 2)->Load<float>(1), 2 * 3.0 * Scale(1) + Shift(1));
  EXPECT_EQ(gemm.Float("alpha", 0), 1.0f);
}

TEST(FoldBatchNormTest, ElsewhereItBecomesMulAdd) {
  Graph graph;
  const int x = Input(graph, "x", {1, 2, 4, 4});
  const int conv = Op(graph, "Conv", {x, Ramp(graph, "w", {2, 2, 1, 1})}, "conv");
  graph.AddOutput(BatchNorm(graph, conv, 2), "y");
  graph.AddOutput(conv, "other");  // so the convolution must stay as it is
  ExpectOk(RunFoldBatchNorm(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Conv Mul Add");
  const Node& add = graph.node(graph.order()[2]);
  EXPECT_EQ(graph.ConstantInput(add, 1)->shape, (Shape{2, 1, 1}));
  EXPECT_FLOAT_EQ(graph.ConstantInput(add, 1)->Load<float>(1), Shift(1));
  EXPECT_TRUE(add.attributes.empty());
}

}  // namespace
}  // namespace temper::graph
