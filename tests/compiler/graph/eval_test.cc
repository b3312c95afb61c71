#include "compiler/graph/eval/eval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

using Ints = std::vector<int64_t>;

Tensor I(Ints values, Shape shape = {-1}) {
  if (shape == Shape{-1}) shape = {static_cast<int64_t>(values.size())};
  return MakeInts(std::move(shape), values);
}
Tensor F(std::vector<float> values, Shape shape = {-1}) {
  if (shape == Shape{-1}) shape = {static_cast<int64_t>(values.size())};
  return MakeFloats(std::move(shape), values);
}

// The first result, evaluated; an empty tensor's data if it was not.
std::optional<Tensor> Eval(const std::string& op, const std::vector<Tensor>& operands,
                           Attributes attributes = {}) {
  Graph graph;
  std::vector<int> inputs;
  for (const Tensor& t : operands) inputs.push_back(graph.AddConstant("c", t));
  const int id = graph.AddNode(op, inputs, {"y"}, std::move(attributes), {"n"});
  const int y = graph.node(id).outputs[0];
  ExpectOk(InferNode(graph, id));
  const auto folded = FoldNode(graph, id, 1 << 20);
  ExpectOk(folded.status());
  if (!folded.ok() || !folded->has_value()) return std::nullopt;
  ExpectOk(Verify(graph));
  return *graph.value(y).constant;
}

void ExpectInts(const std::optional<Tensor>& result, Ints values, const Shape& shape) {
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->AsInts(), values);
  EXPECT_EQ(result->shape, shape);
}

TEST(EvalTest, Arithmetic) {
  ExpectInts(Eval("Add", {I({1, 2, 3, 4, 5, 6}, {2, 3}), I({10, 20}, {2, 1})}),
             {11, 12, 13, 24, 25, 26}, {2, 3});
  ExpectInts(Eval("Div", {I({7, -7}), I({2}, {})}), {3, -3}, {2});
  ExpectInts(Eval("Mod", {I({7, -7}), I({3})}), {1, 2}, {2});
  ExpectInts(Eval("Mod", {I({7, -7}), I({3})}, {{"fmod", int64_t{1}}}), {1, -1}, {2});
  ExpectInts(Eval("Pow", {I({3, 2}), I({4, 10})}), {81, 1024}, {2});
  ExpectInts(Eval("Mul", {I({INT64_MAX}), I({2})}), {-2}, {1});
  EXPECT_FALSE(Eval("Div", {I({1}), I({0})}).has_value());
  EXPECT_FALSE(Eval("Div", {I({INT64_MIN}), I({-1})}).has_value());
  EXPECT_EQ(Eval("Div", {F({1}), F({3})})->Load<float>(0), 1.0f / 3.0f);
  ExpectInts(Eval("Less", {I({1, 5}), I({3})}), {1, 0}, {2});
  ExpectInts(Eval("Max", {I({1, 5}), I({3}), I({4, 4})}), {4, 5}, {2});
}

TEST(EvalTest, UnaryAndCasts) {
  EXPECT_EQ(Eval("Sqrt", {F({2})})->Load<float>(0), std::sqrt(2.0f));
  ExpectInts(Eval("Neg", {I({3, INT64_MIN})}), {-3, INT64_MIN}, {2});
  ExpectInts(Eval("Cast", {F({1.9f, -1.9f, 3e10f})}, {{"to", std::string("int32")}}),
             {1, -1, INT32_MAX}, {3});
  ExpectInts(Eval("Cast", {I({300, -1})}, {{"to", std::string("uint8")}}), {44, 255}, {2});
  ExpectInts(Eval("Cast", {F({0.5f, 0})}, {{"to", std::string("bool")}}), {1, 0}, {2});
  EXPECT_EQ(Eval("Clip", {F({-1, 9}), F({0}, {}), F({6}, {})})->AsDoubles(),
            (std::vector<double>{0, 6}));
}

TEST(EvalTest, Movement) {
  const Tensor x = I({0, 1, 2, 3, 4, 5}, {2, 3});
  ExpectInts(Eval("Transpose", {x}), {0, 3, 1, 4, 2, 5}, {3, 2});
  ExpectInts(Eval("Slice", {x, I({-1}), I({INT64_MIN}), I({1}), I({-2})}), {2, 0, 5, 3}, {2, 2});
  ExpectInts(Eval("Concat", {x, I({9, 8}, {2, 1})}, {{"axis", int64_t{1}}}),
             {0, 1, 2, 9, 3, 4, 5, 8}, {2, 4});
  ExpectInts(Eval("Gather", {x, I({-1, 0})}, {{"axis", int64_t{1}}}), {2, 0, 5, 3}, {2, 2});
  ExpectInts(Eval("GatherElements", {x, I({2, 0}, {2, 1})}, {{"axis", int64_t{1}}}), {2, 3},
             {2, 1});
  ExpectInts(Eval("Expand", {I({1, 2}, {2, 1}), I({2, 2})}), {1, 1, 2, 2}, {2, 2});
  ExpectInts(Eval("Tile", {I({1, 2}, {1, 2}), I({2, 2})}), {1, 2, 1, 2, 1, 2, 1, 2}, {2, 4});
  ExpectInts(Eval("Pad", {x, I({0, -1, 1, 1}), I({7}, {})}), {1, 2, 7, 4, 5, 7, 7, 7, 7}, {3, 3});
  ExpectInts(Eval("Pad", {x, I({3, -3, -2, 1}), I({7}, {})}), {7, 7, 7}, {3, 1});
  ExpectInts(Eval("Pad", {I({}, {0}), I({2, -1}), I({7}, {})}), {7}, {1});
  ExpectInts(Eval("Where", {MakeFromDoubles(DType::kBool, {2, 1}, std::vector<double>{1, 0}),
                            I({1, 2}), I({9}, {})}),
             {1, 2, 9, 9}, {2, 2});
  ExpectInts(Eval("Reshape", {x, I({3, -1})}), {0, 1, 2, 3, 4, 5}, {3, 2});
}

TEST(EvalTest, SplitFillsOnlyWantedResults) {
  Graph graph;
  const int x = IntsConstant(graph, "x", {1, 2, 3, 4});
  const int sizes = IntsConstant(graph, "s", {1, 3});
  const int id = graph.AddNode("Split", {x, sizes}, {"", "b"});
  const int b = graph.node(id).outputs[1];
  ExpectOk(InferNode(graph, id));
  EXPECT_TRUE(FoldNode(graph, id, 100)->has_value());
  EXPECT_EQ(graph.value(b).constant->AsInts(), (Ints{2, 3, 4}));
  EXPECT_FALSE(graph.IsAlive(id));
}

TEST(EvalTest, ShapesNeedOnlyTypes) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3, 4});
  const int id = graph.AddNode("Shape", {x}, {"s"}, {{"start", int64_t{1}}});
  const int s = graph.node(id).outputs[0];
  ExpectOk(InferAndFoldSmall(graph, id));
  EXPECT_EQ(graph.value(s).constant->AsInts(), (Ints{3, 4}));
}

TEST(EvalTest, ShapeValues) {
  ExpectInts(Eval("ConstantOfShape", {I({2})}, {{"value", I({5})}}), {5, 5}, {2});
  ExpectInts(Eval("Range", {I({5}, {}), I({0}, {}), I({-2}, {})}), {5, 3, 1}, {3});
  ExpectInts(Eval("Size", {F({1, 2, 3})}), {3}, {});
}

TEST(EvalTest, NothingTakesNoTimeAndNoMemory) {
  const int64_t many = int64_t{1} << 20;
  Graph graph;
  const int x = Input(graph, "x", {int64_t{1} << 40, 0});
  const int eye = graph.AddNode("EyeLike", {x}, {"eye"});
  ExpectOk(InferAndFoldSmall(graph, eye));
  EXPECT_FALSE(graph.IsAlive(eye));
  // The first two alone are four terabytes.
  const Tensor a = MakeTensor(DType::kFloat32, {1, many, 1});
  const Tensor b = MakeTensor(DType::kFloat32, {1, 1, many});
  EXPECT_EQ(Eval("Sum", {a, b, MakeTensor(DType::kFloat32, {0, 1, 1})})->shape,
            (Shape{0, many, many}));
}

TEST(EvalTest, Diagonals) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3}, DType::kInt64);
  for (const auto& [k, ones] : {std::pair(int64_t{1}, Ints{0, 1, 0, 0, 0, 1}),
                                {int64_t{-1}, {0, 0, 0, 1, 0, 0}},
                                {INT64_MIN, Ints(6, 0)}}) {
    const int id = graph.AddNode("EyeLike", {x}, {"y"}, {{"k", k}});
    const int y = graph.node(id).outputs[0];
    ExpectOk(InferAndFoldSmall(graph, id));
    EXPECT_EQ(graph.value(y).constant->AsInts(), ones) << k;
  }
}

TEST(EvalTest, Reductions) {
  const Tensor x = F({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(Eval("ReduceMean", {x, I({1})})->AsDoubles(), (std::vector<double>{2, 5}));
  EXPECT_EQ(Eval("ReduceMax", {x, I({0})}, {{"keepdims", int64_t{0}}})->AsDoubles(),
            (std::vector<double>{4, 5, 6}));
  ExpectInts(Eval("ReduceProd", {I({2, 3, 4})}), {24}, {1});
}

TEST(EvalTest, IndicesOutOfRangeAreAnError) {
  Graph graph;
  const int x = IntsConstant(graph, "x", {1, 2});
  const int i = IntsConstant(graph, "i", {2});
  const int id = graph.AddNode("Gather", {x, i}, {"y"}, {}, {"n"});
  ExpectError(InferNode(graph, id), "Gather 'n': index 2 is out of range");
  graph.SetType(graph.node(id).outputs[0], TensorType(DType::kInt64, {1}));
  ExpectError(FoldNode(graph, id, 100).status(), "Gather 'n': an index is out of range");
}

TEST(EvalTest, LargeResultsStay) {
  Graph graph;
  const int shape = IntsConstant(graph, "s", {int64_t{1} << 40});
  const int id = graph.AddNode("ConstantOfShape", {shape}, {"y"});
  ExpectOk(InferNode(graph, id));
  EXPECT_FALSE(FoldNode(graph, id, int64_t{1} << 30)->has_value());
}

}  // namespace
}  // namespace temper::graph
