// Values of several shapes: which nodes are there once for each, and where that ends.
#include <gtest/gtest.h>

#include "compiler/graph/control_flow.h"
#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

constexpr int kInt64 = 7;

// y = If(c) {x, of 2} else {x and x, of 4}; more nodes are to come.
Model Choice() {
  Model model;
  model.Input("x", {2}).Input("c", {}, kBool);
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"});
  AddTo(Body(node, "then_branch", {}, {"a"}), "Neg", {"x"}, "a");
  SetInt(AddTo(Body(node, "else_branch", {}, {"b"}), "Concat", {"x", "x"}, "b"), "axis", 0);
  return model;
}

TEST(VaryingTest, NodesAreThereForEachShapeUntilItIsOneAgain) {
  Model model = Choice();
  model.Node("Relu", {"y"}, {"z"});
  SetInt(model.Node("ReduceSum", {"z"}, {"s"}), "keepdims", 0);
  model.Node("Exp", {"s"}, {"e"});
  model.Output("e");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "If Less If Exp");
  const graph::Node& choice = g->node(g->order()[0]);
  EXPECT_EQ(g->type(choice.outputs[0]).ToString(), "float32[4]") << "room for both";
  const graph::Node& chosen = g->node(g->order()[2]);
  const graph::Graph& second = graph::Nested(chosen, graph::kElseBranch);
  EXPECT_EQ(Ops(graph::Nested(chosen, graph::kThenBranch)), "Relu ReduceSum");
  EXPECT_EQ(Ops(second), "Relu ReduceSum");
  EXPECT_EQ(second.type(second.inputs()[0]).ToString(), "float32[4]");
  EXPECT_EQ(second.node(second.order()[0]).sources, std::vector<std::string>{"n_z"});
}

TEST(VaryingTest, NodesThatDoNotDependOnTheShapeAreThereOnce) {
  Model model = Choice();
  model.Node("Relu", {"y"}, {"z"});
  model.Node("Exp", {"x"}, {"e"});
  SetInt(model.Node("ReduceMax", {"z"}, {"m"}), "keepdims", 0);
  model.Node("Add", {"m", "e"}, {"t"});
  model.Output("t");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "If Exp Less If Add");
}

// A node that joins what is of one shape again with what is not goes along.
TEST(VaryingTest, WhatANodeOfEachShapeReadsIsThereForEachToo) {
  Model model = Choice();
  SetInt(model.Node("ReduceMax", {"y"}, {"m"}), "keepdims", 0);
  model.Node("Exp", {"m"}, {"e"});
  model.Node("Sub", {"y", "e"}, {"d"});
  SetInt(model.Node("ReduceSum", {"d"}, {"s"}), "keepdims", 0);
  model.Output("s");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "If Less If");
  const graph::Node& chosen = g->node(g->order()[2]);
  EXPECT_EQ(Ops(graph::Nested(chosen, graph::kThenBranch)), "ReduceMax Exp Sub ReduceSum");
}

TEST(VaryingTest, ShapesThatNoNodeTakesEndTheRun) {
  Model model = Choice();
  model.Input("w", {4}).Output("z");
  model.Node("Add", {"y", "w"}, {"z"});
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  const auto g = model.Import(options);
  ASSERT_TRUE(g.ok()) << g.status().message();
  const graph::Node& chosen = g->node(g->order()[2]);
  EXPECT_NE(chosen.String(graph::kThenError, "").find("Add 'n_z'"), std::string::npos);
  EXPECT_FALSE(chosen.Has(graph::kElseError));
  EXPECT_EQ(g->type(g->outputs()[0]).ToString(), "float32[4]") << "of one shape now";
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("for 1 of the 2 shapes of what Add 'n_z' reads"), std::string::npos);

  model.proto.mutable_graph()
      ->mutable_input(2)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(3);
  ExpectError(model.Import().status(), "Add 'n_z'");
}

TEST(VaryingTest, OneConditionIsNotTwoThings) {
  Model model = Choice();
  onnx::NodeProto& node = model.Node("If", {"c"}, {"v"});
  AddTo(Body(node, "then_branch", {}, {"a2"}), "Neg", {"x"}, "a2");
  SetInt(AddTo(Body(node, "else_branch", {}, {"b2"}), "Concat", {"x", "x"}, "b2"), "axis", 0);
  model.Node("Add", {"y", "v"}, {"z"});
  model.Output("z");
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  const auto g = model.Import(options);
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_TRUE(warnings.empty()) << "[2] + [4] never comes: " << warnings[0];
}

// s = Concat(s, x) in each trip; what a loop makes of it follows.
Model Growing() {
  Model model;
  model.Input("x", {1}).Input("m", {}, kInt64).Output("z");
  onnx::NodeProto& node = model.Node("Loop", {"m", "", "x"}, {"y"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "in"}, {"go", "out"});
  SetInt(AddTo(body, "Concat", {"in", "x"}, "out"), "axis", 0);
  model.Node("Relu", {"y"}, {"z"});
  return model;
}

TEST(VaryingTest, ALoopHasItsBodyForEachShapeThatItCarries) {
  ImportOptions options;
  options.max_trips["n_y"] = 3;
  const auto g = Growing().Import(options);
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Loop Less If");
  const graph::Node& loop = g->node(g->order()[0]);
  EXPECT_EQ(graph::LoopLayout(loop).carried, 2u) << "the value, and which shape it has";
  EXPECT_EQ(g->type(loop.outputs[0]).ToString(), "float32[4]");
  EXPECT_EQ(graph::MostTrips(*g, loop), 3);
  EXPECT_EQ(g->type(g->outputs()[0]).LargestShape(), (graph::Shape{4}));
  EXPECT_FALSE(g->type(g->outputs()[0]).IsStatic());
}

TEST(VaryingTest, LimitsNameTheLoop) {
  ImportOptions options;
  ExpectError(Growing().Import().status(), "state the most with --max-trips 'n_y=N'");
  options.max_trips["n_y"] = 1000;
  ExpectError(Growing().Import(options).status(), "Loop 'n_y': carried value 0 ('out')");
}

TEST(VaryingTest, NodesReadWhatOnlyTheRunKnowsTheExtentsOf) {
  Model model;
  model.Input("x", {2, 3}).Output("t").Output("i");
  model.Node("NonZero", {"x"}, {"i"});
  model.Node("Transpose", {"i"}, {"t"});
  auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  const graph::Node& found = g->node(g->order()[0]);
  EXPECT_EQ(found.op, "NonZero");
  EXPECT_EQ(g->type(found.outputs[0]).ToString(), "int64[12]") << "room for all";
  EXPECT_EQ(g->type(found.outputs[1]).ToString(), "int64[2]") << "its extents";
  EXPECT_EQ(g->type(g->outputs()[0]).LargestShape(), (Ints{6, 2}));
  EXPECT_EQ(g->type(g->outputs()[1]).LargestShape(), (Ints{2, 6}));

  Model none;
  none.Input("x", {0, 3}).Output("t");
  none.Node("NonZero", {"x"}, {"i"});
  none.Node("Transpose", {"i"}, {"t"});
  g = none.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->type(g->outputs()[0]).ToString(), "int64[0,2]");

  // A result that nothing reads is the operator's own.
  Model alone;
  alone.Input("x", {2, 3}).Output("i");
  onnx::NodeProto& node = alone.Node("NonZero", {"x"}, {"i"});
  g = alone.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "NonZero");
  EXPECT_FALSE(g->type(g->outputs()[0]).IsStatic());
  SetInt(node, graph::kRoom, 7);  // an attribute of ours
  ExpectError(alone.Import().status(), "NonZero 'n_i': attribute 'room' is none of");
}

}  // namespace
}  // namespace temper::importer
