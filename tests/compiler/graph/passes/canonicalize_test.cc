#include "compiler/graph/passes/canonicalize.h"

#include <limits>

#include "compiler/graph/passes/infer_shapes.h"
#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

using Ints = std::vector<int64_t>;

// Canonicalizes a graph of one node and checks that types stay as they were.
Graph Canonical(const std::string& op, const Shape& shape, std::vector<Ints> constants,
                Attributes attributes = {}, Shape weights = {}) {
  Graph graph;
  std::vector<int> inputs = {Input(graph, "x", shape)};
  if (!weights.empty()) inputs.push_back(Ramp(graph, "w", weights));
  for (const Ints& c : constants) inputs.push_back(IntsConstant(graph, "c", c));
  const int y = Op(graph, op, inputs, "y", std::move(attributes));
  graph.AddOutput(y, "y");
  const std::string before = graph.type(y).ToString();
  ExpectOk(RunCanonicalize(graph));
  ExpectOk(Verify(graph));
  ExpectOk(RunInferShapes(graph));
  EXPECT_EQ(graph.type(graph.outputs()[0]).ToString(), before);
  return graph;
}

Ints ConstantInts(const Graph& graph, size_t input) {
  const Tensor* tensor = graph.ConstantInput(OnlyNode(graph), input);
  return tensor == nullptr ? Ints{-99} : tensor->AsInts();
}

TEST(CanonicalizeTest, Conv) {
  const Graph graph =
      Canonical("Conv", {1, 3, 224, 224}, {},
                {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, {8, 3, 3, 3});
  const Node& node = OnlyNode(graph);
  EXPECT_EQ(node.Ints("pads"), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(node.Ints("kernel_shape"), (Ints{3, 3}));
  EXPECT_EQ(node.Ints("dilations"), (Ints{1, 1}));
  EXPECT_EQ(node.Int("group", 0), 1);
  EXPECT_FALSE(node.Has("auto_pad"));
}

TEST(CanonicalizeTest, CeilModeBecomesPadding) {
  const Attributes attributes = {
      {"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  const Graph pool = Canonical("MaxPool", {1, 8, 112}, {}, attributes);
  EXPECT_EQ(OnlyNode(pool).Ints("pads"), (Ints{0, 1}));
  EXPECT_FALSE(OnlyNode(pool).Has("ceil_mode"));
  Attributes counting = attributes;
  counting["count_include_pad"] = int64_t{1};
  EXPECT_TRUE(OnlyNode(Canonical("AveragePool", {1, 8, 112}, {}, counting)).Has("ceil_mode"));
}

TEST(CanonicalizeTest, ReshapeFamily) {
  for (const auto& [op, shape, constants, expected] :
       std::vector<std::tuple<std::string, Shape, std::vector<Ints>, Ints>>{
           {"Flatten", {2, 3, 4}, {}, {2, 12}},
           {"Squeeze", {1, 3, 1}, {}, {3}},
           {"Unsqueeze", {3}, {{0}}, {1, 3}},
           {"Reshape", {2, 6}, {{0, -1, 2}}, {2, 3, 2}}}) {
    const Graph graph = Canonical(op, shape, constants);
    EXPECT_EQ(OnlyNode(graph).op, "Reshape");
    EXPECT_EQ(ConstantInts(graph, 1), expected);
  }
}

TEST(CanonicalizeTest, SliceCoversAllDimensions) {
  const Graph graph = Canonical("Slice", {4, 5, 6}, {{-1}, {-100}, {1}, {-2}});
  EXPECT_EQ(ConstantInts(graph, 1), (Ints{0, 4, 0}));
  EXPECT_EQ(ConstantInts(graph, 2), (Ints{4, -6, 6}));
  EXPECT_EQ(ConstantInts(graph, 3), (Ints{0, 1, 2}));
  EXPECT_EQ(ConstantInts(graph, 4), (Ints{1, -2, 1}));
}

TEST(CanonicalizeTest, AxesAndSizes) {
  EXPECT_EQ(ConstantInts(Canonical("ReduceMean", {2, 3, 4}, {{-1, 1}}), 1), (Ints{1, 2}));
  EXPECT_EQ(ConstantInts(Canonical("ReduceMean", {2, 3}, {}), 1), (Ints{0, 1}));
  EXPECT_EQ(OnlyNode(Canonical("Softmax", {2, 3}, {})).Int("axis", 9), 1);
  EXPECT_EQ(OnlyNode(Canonical("Transpose", {2, 3}, {})).Ints("perm"), (Ints{1, 0}));
  EXPECT_EQ(ConstantInts(Canonical("Expand", {3, 1}, {{2, 1, 1}}), 1), (Ints{2, 3, 1}));
  EXPECT_EQ(ConstantInts(Canonical("Split", {4}, {}), 1), (Ints{4}));
}

TEST(CanonicalizeTest, VariadicBecomesBinary) {
  Graph graph;
  const int a = Input(graph, "a", {2});
  const int b = Input(graph, "b", {2});
  const int c = Input(graph, "c", {2});
  graph.AddOutput(Op(graph, "Mean", {a, b, c}, "m"), "m");
  graph.AddOutput(Op(graph, "Max", {a, b, c}, "x"), "x");
  graph.AddOutput(Op(graph, "Sum", {a, b}, "s"), "s");
  ExpectOk(RunCanonicalize(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Add Add Div Max Max Add");
}

TEST(CanonicalizeTest, QuotientsBecomeProductsWhereNothingIsLost) {
  const auto run = [](std::vector<float> by, bool erf, bool read_elsewhere = false) {
    Graph graph;
    const int64_t size = static_cast<int64_t>(by.size());
    const int c = graph.AddConstant("c", MakeFloats({size}, by));
    const int q = Op(graph, "Div", {Input(graph, "x", {2}), c}, "q");
    graph.AddOutput(erf ? Op(graph, "Erf", {q}, "erf") : q, "y");
    if (read_elsewhere) graph.AddOutput(Op(graph, "Relu", {q}, "relu"), "z");
    ExpectOk(RunCanonicalize(graph));
    ExpectOk(Verify(graph));
    return graph;
  };
  const Graph graph = run({8, -0.25f}, false);
  EXPECT_EQ(graph.ConstantInput(OnlyNode(graph), 1)->AsDoubles(), (std::vector<double>{0.125, -4}));
  EXPECT_EQ(Ops(graph), "Mul");
  EXPECT_EQ(Ops(run({8, 3}, false)), "Div");
  EXPECT_EQ(Ops(run({1.4142135f}, true)), "Mul Erf");
  EXPECT_EQ(Ops(run({1.4142135f}, true, true)), "Div Erf Relu");
  // Zero, infinity, and a reciprocal that is denormal.
  EXPECT_EQ(Ops(run({0}, true)), "Div Erf");
  EXPECT_EQ(Ops(run({std::numeric_limits<float>::infinity()}, true)), "Div Erf");
  EXPECT_EQ(Ops(run({0x1p127f}, false)), "Div");
}

}  // namespace
}  // namespace temper::graph
