#include "compiler/graph/passes/decompose.h"

#include <cmath>
#include <numeric>

#include "compiler/graph/control_flow.h"
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

TEST(DecomposeTest, SumsOfNoProductsAreZeros) {
  Graph graph;
  const int x = Input(graph, "x", {2, 0}), y = Input(graph, "y", {0, 3});
  graph.AddOutput(Op(graph, "MatMul", {x, y}, "product"), "p");
  graph.AddOutput(Op(graph, "Einsum", {x, y}, "sum", {{"equation", std::string("ij,jk->ki")}}),
                  "s");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_TRUE(graph.order().empty());
  EXPECT_EQ(graph.value(graph.outputs()[0]).constant->shape, (Shape{2, 3}));
  EXPECT_EQ(graph.value(graph.outputs()[1]).constant->shape, (Shape{3, 2}));
  EXPECT_EQ(graph.value(graph.outputs()[1]).constant->DoubleAt(5), 0);
}

TEST(DecomposeTest, QuantizingNoElementsHasTheScaleOne) {
  Graph graph;
  const int x = Input(graph, "x", {2, 0});
  const int id = graph.AddNode("DynamicQuantizeLinear", {x}, {"q", "scale", "zero"});
  ExpectOk(InferNode(graph, id));
  for (const int output : std::vector<int>(graph.node(id).outputs)) graph.AddOutput(output, "o");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_TRUE(graph.order().empty());
  EXPECT_EQ(graph.value(graph.outputs()[0]).constant->shape, (Shape{2, 0}));
  EXPECT_EQ(graph.value(graph.outputs()[1]).constant->DoubleAt(0), 1);
  EXPECT_EQ(graph.value(graph.outputs()[2]).constant->DoubleAt(0), 0);
}

TEST(DecomposeTest, RecurrencesOfNoStepsKeepTheirState) {
  Graph graph;
  const int x = Input(graph, "x", {0, 2, 3}), h = Input(graph, "h", {1, 2, 4});
  const int w = Input(graph, "w", {1, 4, 3}), r = Input(graph, "r", {1, 4, 4});
  const int id = graph.AddNode("RNN", {x, w, r, kNone, kNone, h}, {"y", "last"});
  ExpectOk(InferNode(graph, id));
  for (const int output : std::vector<int>(graph.node(id).outputs)) graph.AddOutput(output, "o");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(graph.value(graph.outputs()[0]).constant->shape, (Shape{0, 1, 2, 4}));
  EXPECT_EQ(graph.shape(graph.outputs()[1]), (Shape{1, 2, 4}));
  for (const int node : graph.order()) EXPECT_NE(graph.node(node).op, "MatMul");
}

TEST(DecomposeTest, CompositionsOverNoElementsBecomeConstantsToo) {
  Graph graph;
  const int x = Input(graph, "x", {2, 0}, DType::kInt8),
            y = Input(graph, "y", {0, 3}, DType::kInt8);
  const int zero = Input(graph, "zero", {}, DType::kInt8);
  graph.AddOutput(Op(graph, "MatMulInteger", {x, y, zero, zero}, "product"), "p");
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(graph.ProducerOf(graph.outputs()[0]), nullptr);
  EXPECT_EQ(graph.value(graph.outputs()[0]).constant->AsInts(), std::vector<int64_t>(6));
}

TEST(DecomposeTest, LongRecurrencesBecomeLoops) {
  for (const int64_t steps : {4, 65}) {
    Graph graph;
    const int x = Input(graph, "x", {steps, 1, 2});
    graph.AddOutput(
        Op(graph, "RNN", {x, Ramp(graph, "w", {1, 3, 2}), Ramp(graph, "r", {1, 3, 3})}, "rnn"),
        "y");
    ExpectOk(RunDecompose(graph));
    ExpectOk(Verify(graph));
    const std::string ops = Ops(graph);
    EXPECT_EQ(ops.find("RNN"), std::string::npos) << ops;
    EXPECT_EQ(ops.find("Loop") != std::string::npos, steps > 8) << ops;
    if (steps <= 8) continue;
    const Node* loop = nullptr;
    for (int id : graph.order()) {
      if (graph.node(id).Is("Loop")) loop = &graph.node(id);
    }
    EXPECT_EQ(ExactTrips(graph, *loop), steps);
    EXPECT_EQ(loop->inputs.size(), 4u) << "trips, no condition, h, and x * W^T";
    EXPECT_EQ(graph.shape(graph.outputs()[0]), (Shape{steps, 1, 1, 3}));
  }
}

TEST(DecomposeTest, ConcatOfManyIsATree) {
  for (const size_t count : {64u, 65u}) {
    Graph graph;
    const int x = Input(graph, "x", {2, 3});
    graph.AddOutput(Op(graph, "Concat", std::vector<int>(count, x), "c", {{"axis", int64_t{-1}}}),
                    "y");
    ExpectOk(RunDecompose(graph));
    ExpectOk(Verify(graph));
    EXPECT_EQ(Ops(graph), count == 64 ? "Concat" : "Concat Concat");
    EXPECT_EQ(graph.shape(graph.outputs()[0]), (Shape{2, 3 * static_cast<int64_t>(count)}));
  }
}

TEST(DecomposeTest, SplitIntoManyIsATree) {
  Graph graph;
  const int x = Input(graph, "x", {66, 3});
  std::vector<int64_t> sizes(65, 1);
  sizes[3] = 0;
  sizes[64] = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.push_back("p" + std::to_string(i));
  sizes[5] = 0;
  sizes[6] = 2;
  const int id = graph.AddNode("Split", {x, IntsConstant(graph, "sizes", sizes)}, names,
                               {{"axis", int64_t{0}}}, {"split"});
  ExpectOk(InferNode(graph, id));
  const std::vector<int> outputs = graph.node(id).outputs;
  for (const int i : {3, 6, 63, 64}) graph.AddOutput(outputs[i], names[i]);
  ExpectOk(RunDecompose(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(graph.shape(graph.outputs()[0]), (Shape{0, 3}));
  EXPECT_EQ(graph.shape(graph.outputs()[1]), (Shape{2, 3}));
  EXPECT_EQ(graph.shape(graph.outputs()[2]), (Shape{1, 3}));
  EXPECT_EQ(graph.shape(graph.outputs()[3]), (Shape{3, 3}));
  for (const int node : graph.order()) EXPECT_LE(graph.node(node).outputs.size(), 32u);
}

TEST(DecomposeTest, AZeroPointOfAnAxisGoesWithOneScale) {
  Graph graph;
  const int x = Input(graph, "x", {3, 4}, DType::kInt8);
  const int zero = graph.AddConstant("zero", MakeTensor(DType::kInt8, {4}));
  const int blocks = graph.AddConstant("blocks", MakeTensor(DType::kInt8, {3, 1}));
  const int scale = graph.AddConstant("scale", MakeScalar(1));
  const int y = Op(graph, "DequantizeLinear", {x, scale, zero}, "y", {{"axis", int64_t{1}}});
  const int z = Op(graph, "DequantizeLinear", {x, scale, blocks}, "z",
                   {{"axis", int64_t{1}}, {"block_size", int64_t{1} << 40}});
  graph.AddOutput(y, "y");
  graph.AddOutput(z, "z");
  ExpectOk(RunDecompose(graph));
  EXPECT_EQ(graph.type(graph.outputs()[0]).ToString(), "float32[3,4]");
}

Status ResizeOne(int64_t in, Attributes attributes, std::vector<float> roi, int64_t out) {
  Graph graph;
  const int x = Input(graph, "x", {in});
  const int of = graph.AddConstant("roi", MakeFloats({static_cast<int64_t>(roi.size())}, roi));
  graph.AddOutput(Op(graph, "Resize", {x, of, kNone, IntsConstant(graph, "sizes", {out})}, "up",
                     std::move(attributes)),
                  "y");
  return RunDecompose(graph);
}

TEST(DecomposeTest, ResizesReachAsFarAsTheirOperandAtMost) {
  const std::string crop = "tf_crop_and_resize";
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const float end : {1e30f, -1e30f, std::nanf("")}) {
      ExpectOk(ResizeOne(8, {{"mode", std::string(mode)}, {"coordinate_transformation_mode", crop}},
                         {0, end}, 3));
    }
  }
  for (const int64_t in : {int64_t{1} << 40, int64_t{1} << 46}) {
    ExpectError(ResizeOne(in, {{"mode", std::string("linear")}, {"antialias", int64_t{1}}}, {}, 8),
                "Resize 'up': it shrinks too large a dimension");
  }
}

TEST(DecomposeTest, PoolsOfNgramsHaveALimit) {
  Graph graph;
  const int x = Input(graph, "x", {1, int64_t{1} << 44}, DType::kInt64);
  std::vector<int64_t> pool(1 << 20);
  std::iota(pool.begin(), pool.end(), 0);
  graph.AddOutput(Op(graph, "TfIdfVectorizer", {x}, "count",
                     {{"pool_int64s", pool}, {"ngram_indexes", pool}, {"ngram_counts", Shape{0}}}),
                  "y");
  ExpectError(RunDecompose(graph), "its pool is too large for this input");
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
