#include "compiler/import/upgrade.h"

#include <functional>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

// A model of one node on input x; its graph.
graph::Graph One(int opset, const std::string& op, const Ints& shape,
                 const std::function<void(onnx::NodeProto&)>& edit = {},
                 std::vector<std::string> inputs = {"x"}) {
  Model model(opset);
  model.Input("x", shape).Output("y");
  onnx::NodeProto& node = model.Node(op, inputs, {"y"});
  if (edit) edit(node);
  auto graph = model.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : graph::Graph();
}

const graph::Node& Only(const graph::Graph& graph) {
  EXPECT_EQ(graph.order().size(), 1u) << Ops(graph);
  return graph.node(graph.order().at(0));
}

std::string Type(const graph::Graph& graph) { return graph.type(graph.outputs()[0]).ToString(); }

TEST(UpgradeTest, AttributesBecomeInputs) {
  graph::Graph g = One(6, "Clip", {2}, [](auto& n) { SetFloat(n, "max", 6); });
  EXPECT_EQ(g.ConstantInput(Only(g), 2)->AsDoubles(), (std::vector<double>{6}));
  EXPECT_FALSE(Only(g).HasInput(1));
  EXPECT_TRUE(Only(g).attributes.empty());

  g = One(11, "Squeeze", {1, 2, 1}, [](auto& n) { SetInts(n, "axes", {0}); });
  EXPECT_EQ(Type(g), "float32[2,1]");
  g = One(11, "Unsqueeze", {2}, [](auto& n) { SetInts(n, "axes", {0, 2}); });
  EXPECT_EQ(Type(g), "float32[1,2,1]");
  g = One(1, "Reshape", {2, 3}, [](auto& n) {
    SetInts(n, "shape", {3, -1});
    SetInts(n, "consumed_inputs", {0});
  });
  EXPECT_EQ(Type(g), "float32[3,2]");
  EXPECT_FALSE(Only(g).Has("consumed_inputs"));
  g = One(9, "Slice", {5, 5}, [](auto& n) {
    SetInts(n, "starts", {1});
    SetInts(n, "ends", {-1});
    SetInts(n, "axes", {1});
  });
  EXPECT_EQ(Type(g), "float32[5,3]");
  g = One(2, "Pad", {2, 2}, [](auto& n) {
    SetInts(n, "pads", {0, 1, 0, 1});
    SetFloat(n, "value", 3);
  });
  EXPECT_EQ(Type(g), "float32[2,4]");
  EXPECT_EQ(g.ConstantInput(Only(g), 2)->AsDoubles(), (std::vector<double>{3}));
  g = One(13, "ReduceMean", {2, 3}, [](auto& n) { SetInts(n, "axes", {1}); });
  EXPECT_EQ(Type(g), "float32[2,1]");
}

TEST(UpgradeTest, OldSoftmaxFlattens) {
  graph::Graph g = One(11, "Softmax", {2, 3, 4});
  EXPECT_EQ(Ops(g), "Flatten Softmax Reshape");
  EXPECT_EQ(g.type(g.node(g.order()[1]).outputs[0]).ToString(), "float32[2,12]");
  EXPECT_EQ(Type(g), "float32[2,3,4]");
  EXPECT_EQ(Ops(One(13, "Softmax", {2, 3, 4})), "Softmax");
  EXPECT_EQ(Ops(One(11, "Softmax", {2, 0, 4})), "Flatten Softmax Reshape") << "without elements";
  EXPECT_EQ(Ops(One(12, "Hardmax", {2, 3, 4})), "Flatten Hardmax Reshape");
}

TEST(UpgradeTest, OldBroadcastAddsDimensions) {
  Model model(6);
  model.Input("x", {2, 3, 4, 5}).Output("y").Floats("b", {3}, {1, 2, 3});
  onnx::NodeProto& add = model.Node("Add", {"x", "b"}, {"y"});
  SetInt(add, "broadcast", 1);
  SetInt(add, "axis", 1);
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(Ops(*graph), "Add");  // the Unsqueeze of the constant was folded
  EXPECT_EQ(graph->ConstantInput(Only(*graph), 1)->shape, (graph::Shape{3, 1, 1}));
}

TEST(UpgradeTest, OldBroadcastAxesAreChecked) {
  for (const int64_t axis : {INT64_MAX, INT64_MIN, int64_t{2}}) {
    Model model(6);
    model.Input("x", {3, 4}).Output("y").Floats("b", {3}, {1, 2, 3});
    onnx::NodeProto& add = model.Node("Add", {"x", "b"}, {"y"});
    SetInt(add, "broadcast", 1);
    SetInt(add, "axis", axis);
    ExpectError(model.Import().status(), "Add 'n_y': axis " + std::to_string(axis) + " is wrong");
  }
}

TEST(UpgradeTest, InferenceOnly) {
  graph::Graph g = One(7, "Dropout", {2}, [](auto& n) { SetFloat(n, "ratio", 0.5f); });
  EXPECT_TRUE(Only(g).attributes.empty());
  Model training(14);
  training.Input("x", {1, 2}).Output("y").Floats("s", {2}, {1, 1});
  SetInt(training.Node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}), "training_mode", 1);
  ExpectError(training.Import().status(), "BatchNormalization 'n_y': training is not supported");
}

TEST(UpgradeTest, CastNamesItsType) {
  graph::Graph g = One(13, "Cast", {2}, [](auto& n) { SetInt(n, "to", 7); });
  EXPECT_EQ(Only(g).String("to", ""), "int64");
  g = One(1, "Cast", {2}, [](auto& n) {
    auto* a = n.add_attribute();
    a->set_name("to");
    a->set_s("DOUBLE");
  });
  EXPECT_EQ(Type(g), "float64[2]");
  Model bad;
  bad.Input("x", {2}).Output("y");
  SetInt(bad.Node("Cast", {"x"}, {"y"}), "to", 8);
  ExpectError(bad.Import().status(), "Cast 'n_y': the element type string is not supported");
}

}  // namespace
}  // namespace temper::importer
