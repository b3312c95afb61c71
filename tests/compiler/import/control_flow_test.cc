// If, Loop and Scan: what is decided when they are imported.
#include "compiler/import/control_flow.h"

#include <gtest/gtest.h>

#include "compiler/graph/control_flow.h"
#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

// y = If(c) {Neg(x)} else {Abs(x)}, x captured.
Model Choice() {
  Model model;
  model.Input("x", {2}).Output("y");
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"});
  AddTo(Body(node, "then_branch", {}, {"a"}), "Neg", {"x"}, "a");
  AddTo(Body(node, "else_branch", {}, {"b"}), "Abs", {"x"}, "b");
  return model;
}

TEST(ControlFlowTest, ConstantConditionTakesItsBranch) {
  Model model = Choice();
  onnx::TensorProto* c = model.proto.mutable_graph()->add_initializer();
  c->set_name("c");
  c->set_data_type(kBool);
  c->add_int32_data(0);
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Abs");
}

TEST(ControlFlowTest, OpenConditionKeepsTheBranches) {
  Model model = Choice();
  model.Input("c", {}, kBool);
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "If");
  const graph::Node& node = g->node(g->order()[0]);
  EXPECT_EQ(node.sources, std::vector<std::string>{"n_y"});
  EXPECT_EQ(node.inputs.size(), 3u) << "the condition, and x once a branch";
  EXPECT_EQ(Ops(graph::Nested(node, graph::kThenBranch)), "Neg");
  EXPECT_EQ(Ops(graph::Nested(node, graph::kElseBranch)), "Abs");
  EXPECT_EQ(g->type(g->outputs()[0]).ToString(), "float32[2]");
}

TEST(ControlFlowTest, BranchesOfDifferentRanksAreRefusedByName) {
  Model model = Choice();
  model.Input("c", {}, kBool);
  onnx::GraphProto* branch =
      model.proto.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g();
  branch->mutable_node(0)->set_op_type("Size");
  ExpectError(model.Import().status(), "If 'n_y': its branches differ in type");
}

// Adds k to s, `trips` times, and collects the sums.
Model Sum(int64_t trips) {
  Model model;
  model.Input("s0", {2}).Input("k", {2}).Output("s").Output("rows");
  model.IntList("trips", {trips});
  onnx::NodeProto& node = model.Node("Loop", {"trips", "", "s0"}, {"s", "rows"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "in"}, {"next", "out", "row"});
  AddTo(body, "Identity", {"go"}, "next");
  AddTo(body, "Add", {"in", "k"}, "out");
  AddTo(body, "Neg", {"out"}, "row");
  return model;
}

TEST(ControlFlowTest, SmallLoopsAreWrittenOut) {
  const auto g = Sum(2).Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Add Neg Add Neg Unsqueeze Unsqueeze Concat");
  EXPECT_EQ(g->type(g->outputs()[1]).ToString(), "float32[2,2]");
  EXPECT_EQ(g->node(g->order()[2]).sources, std::vector<std::string>{"n_s/[1]/out"});
}

TEST(ControlFlowTest, OtherLoopsStayLoops) {
  const auto g = Sum(int64_t{1} << 20).Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Loop");
  const graph::Node& node = g->node(g->order()[0]);
  EXPECT_EQ(Ops(graph::Nested(node, graph::kBody)), "Add Neg") << "the condition is constant";
  EXPECT_FALSE(graph::LoopLayout(node).conditional);
  EXPECT_EQ(graph::ExactTrips(*g, node), int64_t{1} << 20);
  EXPECT_EQ(g->type(g->outputs()[1]).ToString(), "float32[1048576,2]");
}

// Of four carried values one is read behind the loop, one is needed for it, one stays as it is, and
// one serves itself alone.
TEST(ControlFlowTest, ALoopCarriesWhatChangesAndIsNeeded) {
  Model model;
  model.Input("x", {2}).Input("m", {}, 7).Output("a");
  onnx::NodeProto& node =
      model.Node("Loop", {"m", "", "x", "x", "x", "x"}, {"a", "b", "c", "d", "r"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "a1", "b1", "c1", "d1"},
                                {"go", "a2", "b2", "c2", "d2", "row"});
  AddTo(body, "Add", {"a1", "b1"}, "a2");
  AddTo(body, "Mul", {"b1", "c1"}, "b2");
  AddTo(body, "Identity", {"c1"}, "c2");
  AddTo(body, "Exp", {"d1"}, "d2");
  AddTo(body, "Neg", {"d1"}, "row");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  const graph::Node& loop = g->node(g->order()[0]);
  EXPECT_EQ(graph::LoopLayout(loop).carried, 2u);
  EXPECT_EQ(loop.outputs.size(), 2u) << "no rows";
  EXPECT_EQ(Ops(graph::Nested(loop, graph::kBody)), "Add Mul");
}

TEST(ControlFlowTest, RowsNeedAKnownNumberOfTrips) {
  Model model = Sum(2);
  model.proto.mutable_graph()->clear_initializer();
  model.Input("trips", {1}, 7);
  ExpectError(model.Import().status(), "Loop 'n_s': output 1 ('row') has a row for each trip");
  ImportOptions options;
  options.max_trips["n_s"] = 9;
  const auto g = model.Import(options);
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->type(g->outputs()[1]).LargestShape(), (graph::Shape{9, 2}));
  EXPECT_FALSE(g->type(g->outputs()[1]).IsStatic());
  options.max_trips["other"] = 9;
  ExpectError(model.Import(options).status(), "--max-trips names 'other', which is no Loop");
}

// Doubles s while its sum is below the limit; `trips` at most, or as often as it likes.
Model Doubling(const Ints& trips) {
  Model model;
  model.Input("s0", {2}).Input("limit", {}).Output("s");
  if (!trips.empty()) model.IntList("trips", trips);
  onnx::NodeProto& node = model.Node("Loop", {trips.empty() ? "" : "trips", "", "s0"}, {"s"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "in"}, {"next", "out"});
  AddTo(body, "Add", {"in", "in"}, "out");
  AddTo(body, "ReduceSum", {"out"}, "sum").add_attribute()->set_name("keepdims");
  body.mutable_node(1)->mutable_attribute(0)->set_type(2);
  AddTo(body, "Less", {"sum", "limit"}, "next");
  return model;
}

TEST(ControlFlowTest, AConditionOfTheBodyIsItsFirstOutput) {
  for (const Ints& trips : {Ints{}, Ints{3}}) {
    const auto g = Doubling(trips).Import();
    ASSERT_TRUE(g.ok()) << g.status().message();
    const graph::Node& node = g->node(g->order()[0]);
    EXPECT_TRUE(graph::LoopLayout(node).conditional);
    EXPECT_EQ(Ops(graph::Nested(node, graph::kBody)), "Add ReduceSum Less");
    EXPECT_EQ(graph::MostTrips(*g, node), trips.empty() ? -1 : 3);
    EXPECT_EQ(graph::ExactTrips(*g, node), std::nullopt);
  }
}

TEST(ControlFlowTest, WhatChangesItsShapeIsWrittenOutOrRefused) {
  Model model;
  model.Input("s0", {1}).Output("s");
  onnx::NodeProto& node = model.Node("Loop", {"trips", "", "s0"}, {"s"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "in"}, {"go", "out"});
  SetInt(AddTo(body, "Concat", {"in", "s0"}, "out"), "axis", 0);
  Model known = model;
  known.IntList("trips", {100});
  const auto g = known.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->type(g->outputs()[0]).ToString(), "float32[101]");
  model.Input("trips", {}, 7);
  ExpectError(model.Import().status(),
              "Loop 'n_s': carried value 0 ('out') is float32[1] at first and float32[2]");
}

TEST(ControlFlowTest, TripCountAndConditionAreScalars) {
  for (const char* wide : {"trips", "go"}) {
    Model model;
    model.Input("s0", {1}).Output("s");
    const std::vector<int64_t> many = {int64_t{1} << 36}, one;
    model.Input("trips", std::string(wide) == "trips" ? many : one, 7);
    model.Input("go", std::string(wide) == "go" ? many : one, kBool);
    onnx::NodeProto& node = model.Node("Loop", {"trips", "go", "s0"}, {"s"});
    onnx::GraphProto& body = Body(node, "body", {"i", "on", "in"}, {"on", "out"});
    AddTo(body, "Neg", {"in"}, "out");
    ExpectError(model.Import().status(), "is no scalar");
  }
}

TEST(ControlFlowTest, WhatALoopCarriesMustBeThere) {
  Model model;
  model.Input("x", {1}).Output("y").IntList("trips", {3});
  model.Input("go", {}, kBool);
  onnx::NodeProto& node = model.Node("Loop", {"trips", "go", "", "x"}, {"y", "z"});
  onnx::GraphProto& body = Body(node, "body", {"i", "on", "a", "b"}, {"on", "c", "d"});
  AddTo(body, "Neg", {"b"}, "c");
  AddTo(body, "Neg", {"c"}, "d");
  ExpectError(model.Import().status(), "Loop 'n_y': input 2 is missing");
}

TEST(ControlFlowTest, WhatIsCapturedIsAnInputAtEachLevel) {
  Model model;
  model.Input("x", {2}).Input("c", {}, kBool).Input("trips", {}, 7).Output("y");
  model.Floats("k", {2}, {1, 2});
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"});
  onnx::GraphProto& yes = Body(node, "then_branch", {}, {"a"});
  onnx::NodeProto& loop = AddTo(yes, "Loop", {"trips", "", "x"}, "a");
  onnx::GraphProto& body = Body(loop, "body", {"i", "go", "in"}, {"go", "out"});
  AddTo(body, "Mul", {"in", "k"}, "m");
  AddTo(body, "Add", {"m", "late"}, "out");
  AddTo(Body(node, "else_branch", {}, {"b"}), "Neg", {"x"}, "b");
  model.Node("Exp", {"x"}, {"late"});
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Exp If");
  const graph::Node& branch = g->node(g->order()[1]);
  EXPECT_EQ(branch.Int("then_inputs", 0), 3) << "trips, x and late";
  const graph::Graph& then = graph::Nested(branch, graph::kThenBranch);
  const graph::Node& inner = then.node(then.order()[0]);
  EXPECT_EQ(inner.inputs.size(), 4u) << "k is a constant of the body";
  EXPECT_EQ(graph::Nested(inner, graph::kBody).inputs().size(), 3u);
}

TEST(ControlFlowTest, ScansReadRowsAndCanRunBackwards) {
  Model model;
  model.Input("s0", {3}).Input("x", {2, 3}).Output("s").Output("y");
  onnx::NodeProto& node = model.Node("Scan", {"s0", "x"}, {"s", "y"});
  onnx::GraphProto& body = Body(node, "body", {"in", "row"}, {"out", "each"});
  AddTo(body, "Add", {"in", "row"}, "out");
  AddTo(body, "Neg", {"out"}, "each");
  SetInt(node, "num_scan_inputs", 1);
  SetInts(node, "scan_input_directions", {1});
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Gather Add Neg Gather Add Neg Unsqueeze Unsqueeze Concat");
  EXPECT_EQ(g->ConstantInput(g->node(g->order()[0]), 1)->IntAt(0), 1);
}

TEST(ControlFlowTest, NodesInABranchMayBeOutOfOrderAndOuterOnesToo) {
  Model model;
  model.Input("x", {2}).Input("c", {}, kBool).Output("y");
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"});
  onnx::GraphProto& yes = Body(node, "then_branch", {}, {"a"});
  AddTo(yes, "Neg", {"t"}, "a");
  AddTo(yes, "Relu", {"late"}, "t");
  Body(node, "else_branch", {}, {"late"});
  model.Node("Exp", {"x"}, {"late"});  // after its reader
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Exp If");
  EXPECT_EQ(Ops(graph::Nested(g->node(g->order()[1]), graph::kThenBranch)), "Relu Neg");
}

}  // namespace
}  // namespace temper::importer
