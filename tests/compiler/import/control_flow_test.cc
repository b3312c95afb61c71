// If, Loop and Scan, written out when imported.
#include "compiler/import/control_flow.h"

#include <gtest/gtest.h>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

onnx::GraphProto& Body(onnx::NodeProto& node, const std::string& name,
                       const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  onnx::GraphProto* graph = attribute->mutable_g();
  for (const std::string& input : inputs) graph->add_input()->set_name(input);
  for (const std::string& output : outputs) graph->add_output()->set_name(output);
  return *graph;
}

onnx::NodeProto& AddTo(onnx::GraphProto& graph, const std::string& op,
                       const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto* node = graph.add_node();
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return *node;
}

constexpr int kBool = 9;

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

TEST(ControlFlowTest, OpenConditionSelects) {
  Model model = Choice();
  model.Input("c", {}, kBool);
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Neg Abs Where");
}

TEST(ControlFlowTest, BranchesOfDifferentShapesAreRefusedByName) {
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

TEST(ControlFlowTest, LoopsAreUnrolled) {
  const auto g = Sum(2).Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Add Neg Add Neg Unsqueeze Unsqueeze Concat");
  EXPECT_EQ(g->type(g->outputs()[1]).ToString(), "float32[2,2]");
  EXPECT_EQ(g->node(g->order()[2]).sources, std::vector<std::string>{"n_s/[1]/out"});
}

TEST(ControlFlowTest, AGreatNumberOfTripsIsRefused) {
  ExpectError(Sum(int64_t{1} << 40).Import().status(),
              "Loop 'n_s': it takes more than 16384 trips");
}

TEST(ControlFlowTest, AnOpenConditionFreezesWhatIsCarried) {
  Model model;
  model.Input("s0", {2}).Input("limit", {}).Output("s");
  model.IntList("trips", {3});
  onnx::NodeProto& node = model.Node("Loop", {"trips", "", "s0"}, {"s"});
  onnx::GraphProto& body = Body(node, "body", {"i", "go", "in"}, {"next", "out"});
  AddTo(body, "Add", {"in", "in"}, "out");
  AddTo(body, "ReduceSum", {"out"}, "sum").add_attribute()->set_name("keepdims");
  body.mutable_node(1)->mutable_attribute(0)->set_type(2);
  AddTo(body, "Less", {"sum", "limit"}, "next");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g),
            "Add ReduceSum Less Add ReduceSum Less Where And Add ReduceSum Less Where And");
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
  EXPECT_EQ(Ops(*g), "Exp Relu Neg Where");
}

}  // namespace
}  // namespace temper::importer
