#include "compiler/graph/passes/remove_identity.h"

#include "compiler/graph/passes/canonicalize.h"
#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

using Ints = std::vector<int64_t>;

// x -> Relu -> op -> Sigmoid; what is left between.
std::string Left(const std::string& op, Shape shape, std::vector<Ints> constants = {},
                 Attributes attributes = {}) {
  Graph graph;
  const int x = Op(graph, "Relu", {Input(graph, "x", std::move(shape))}, "relu");
  std::vector<int> inputs = {x};
  for (const Ints& c : constants) inputs.push_back(IntsConstant(graph, "c", c));
  const int y = Op(graph, op, inputs, "n", std::move(attributes));
  graph.AddOutput(Op(graph, "Sigmoid", {y}, "s"), "y");
  ExpectOk(RunCanonicalize(graph));
  ExpectOk(RunRemoveIdentity(graph));
  ExpectOk(Verify(graph));
  return Ops(graph);
}

TEST(RemoveIdentityTest, NodesThatChangeNothingGo) {
  const std::string gone = "Relu Sigmoid";
  EXPECT_EQ(Left("Identity", {2}), gone);
  EXPECT_EQ(Left("Dropout", {2}), gone);
  EXPECT_EQ(Left("Cast", {2}, {}, {{"to", std::string("float32")}}), gone);
  EXPECT_EQ(Left("Reshape", {2, 3}, {{2, 3}}), gone);
  EXPECT_EQ(Left("Flatten", {2, 3}), gone);
  EXPECT_EQ(Left("Transpose", {2, 3}, {}, {{"perm", Ints{0, 1}}}), gone);
  EXPECT_EQ(Left("Expand", {2, 3}, {{1, 3}}), gone);
  EXPECT_EQ(Left("Slice", {2, 3}, {{0}, {100}}), gone);
  EXPECT_EQ(Left("Pad", {2, 3}, {{0, 0, 0, 0}}), gone);
  EXPECT_EQ(Left("Concat", {2, 3}, {}, {{"axis", int64_t{0}}}), gone);
  EXPECT_EQ(Left("Clip", {2}), gone);
}

TEST(RemoveIdentityTest, NodesThatChangeSomethingStay) {
  EXPECT_EQ(Left("Cast", {2}, {}, {{"to", std::string("float64")}}), "Relu Cast Sigmoid");
  EXPECT_EQ(Left("Slice", {3}, {{-1}, {-100}, {0}, {-1}}), "Relu Slice Sigmoid");
  EXPECT_EQ(Left("Pad", {2, 3}, {{0, -1, 0, 1}}), "Relu Pad Sigmoid");
  EXPECT_EQ(Left("Transpose", {2, 2}), "Relu Transpose Sigmoid");
  EXPECT_EQ(Left("Reshape", {2, 3}, {{3, 2}}), "Relu Reshape Sigmoid");
  EXPECT_EQ(Left("Transpose", {2, 1, 3}, {}, {{"perm", Ints{0, 2, 1}}}), "Relu Reshape Sigmoid");
}

TEST(RemoveIdentityTest, NeutralArithmetic) {
  Graph graph;
  const int x = Input(graph, "x", {2});
  const int a = Op(graph, "Mul", {x, graph.AddConstant("one", MakeScalar(1))}, "a");
  const int b = Op(graph, "Add", {graph.AddConstant("zero", MakeScalar(0)), a}, "b");
  const int c = Op(graph, "Sub", {graph.AddConstant("zero", MakeScalar(0)), b}, "c");
  graph.AddOutput(c, "y");
  ExpectOk(RunRemoveIdentity(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Sub");  // 0 - x is not x
  EXPECT_EQ(graph.node(graph.order()[0]).sources, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(RemoveIdentityTest, MovesMerge) {
  Graph graph;
  const int x = Input(graph, "x", {2, 3, 4});
  const int t = Op(graph, "Transpose", {x}, "t", {{"perm", Ints{1, 2, 0}}});
  const int u = Op(graph, "Transpose", {t}, "u", {{"perm", Ints{1, 2, 0}}});
  const int r = Op(graph, "Reshape", {u, IntsConstant(graph, "c", {24})}, "r");
  const int s = Op(graph, "Reshape", {r, IntsConstant(graph, "d", {6, 4})}, "s");
  graph.AddOutput(s, "y");
  ExpectOk(RunRemoveIdentity(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(Ops(graph), "Transpose Reshape");
  EXPECT_EQ(graph.node(graph.order()[0]).Ints("perm"), (Ints{2, 0, 1}));
  EXPECT_EQ(graph.type(graph.outputs()[0]).ToString(), "float32[6,4]");
}

TEST(RemoveIdentityTest, DropoutMaskBecomesOnes) {
  Graph graph;
  const int x = Input(graph, "x", {2});
  const int id = graph.AddNode("Dropout", {x}, {"y", "mask"});
  ExpectOk(InferNode(graph, id));
  graph.AddOutput(graph.node(id).outputs[0], "y");
  graph.AddOutput(graph.node(id).outputs[1], "mask");
  ExpectOk(RunRemoveIdentity(graph));
  ExpectOk(Verify(graph));
  EXPECT_EQ(graph.outputs()[0], x);
  EXPECT_EQ(graph.value(graph.outputs()[1]).constant->AsInts(), (Ints{1, 1}));
}

TEST(RemoveIdentityTest, MasksHaveALimitInAll) {
  Graph graph;
  const int x = Input(graph, "x", {(int64_t{1} << 29) + 1});
  for (const char* name : {"first", "second"}) {
    const int id = graph.AddNode("Dropout", {x}, {name, std::string(name) + "/mask"}, {}, {name});
    ExpectOk(InferNode(graph, id));
    for (int output : graph.node(id).outputs) graph.AddOutput(output, graph.value(output).name);
  }
  ExpectError(RunRemoveIdentity(graph), "the mask 'second/mask' is too large");
}

}  // namespace
}  // namespace temper::graph
