#include "compiler/import/import.h"

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

// y = Relu(x + w), with nodes out of order.
Model Small() {
  Model model;
  model.Input("x", {2, 2}).Output("y");
  model.Node("Relu", {"s"}, {"y"});
  model.Node("Add", {"x", "w"}, {"s"});
  model.Floats("w", {2}, {1, 2});
  return model;
}

TEST(ImportTest, SortsNodesAndSharesConstants) {
  const auto bytes = std::make_shared<std::string>(Small().Bytes());
  const auto graph = ImportBytes(std::as_bytes(std::span(*bytes)), bytes, "m");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(Ops(*graph), "Add Relu");
  EXPECT_EQ(graph->node(graph->order()[0]).sources, (std::vector<std::string>{"n_s"}));
  EXPECT_EQ(graph->type(graph->outputs()[0]).ToString(), "float32[2,2]");
  EXPECT_EQ(graph->output_names()[0], "y");
  const graph::Tensor* w = graph->ConstantInput(graph->node(graph->order()[0]), 1);
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->Load<float>(1), 2);
  const char* data = reinterpret_cast<const char*>(w->data);
  EXPECT_TRUE(data >= bytes->data() && data + w->bytes() <= bytes->data() + bytes->size());
}

TEST(ImportTest, PackedFloatDataIsShared) {
  Model model = Small();
  onnx::TensorProto& w = *model.proto.mutable_graph()->mutable_initializer(0);
  w.clear_raw_data();
  w.add_float_data(3);
  w.add_float_data(4);
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->ConstantInput(graph->node(graph->order()[0]), 1)->AsDoubles(),
            (std::vector<double>{3, 4}));
}

TEST(ImportTest, UnknownOperatorsAreListedTogether) {
  Model model = Small();
  for (int i = 0; i < 5; ++i) model.Node("Warp", {"x"}, {"w" + std::to_string(i)});
  model.Node("Attention", {"x"}, {"a"}).set_domain("com.example");
  ExpectError(
      model.Import().status(),
      "test.onnx: some operators are not supported: Warp (node 'n_w0', 'n_w1', 'n_w2' and 2 "
      "more), com.example.Attention (node 'n_a')");
}

TEST(ImportTest, BrokenGraphsAreRefused) {
  Model cycle = Small();
  cycle.proto.mutable_graph()->mutable_node(1)->set_input(1, "y");
  ExpectError(cycle.Import().status(), "Relu 'n_y' depends on itself, through a cycle of nodes");

  Model undefined = Small();
  undefined.proto.mutable_graph()->mutable_node(1)->set_input(1, "nowhere");
  ExpectError(undefined.Import().status(), "Add 'n_s': its input 'nowhere' is defined nowhere");

  Model twice = Small();
  twice.Node("Neg", {"x"}, {"s"});
  ExpectError(twice.Import().status(), "its output 's' is defined elsewhere too");

  Model initializers = Small();
  initializers.Floats("w", {1}, {1});
  ExpectError(initializers.Import().status(), "initializer 'w' is there twice");

  Model output = Small();
  output.Output("z");
  ExpectError(output.Import().status(), "output 'z' is defined nowhere");

  Model arity = Small();
  arity.proto.mutable_graph()->mutable_node(1)->mutable_input()->RemoveLast();
  ExpectError(arity.Import().status(), "Add 'n_s': input 1 is missing");

  Model shapes = Small();
  shapes.proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  ExpectError(shapes.Import().status(), "tensor 'w': float32[3] needs 12 bytes, but 8 are there");

  Model mismatch = Small();
  mismatch.Floats("v", {3}, {1, 2, 3});
  mismatch.proto.mutable_graph()->mutable_node(1)->set_input(1, "v");
  ExpectError(mismatch.Import().status(), "Add 'n_s': shapes [2,2] and [3] do not broadcast");
}

TEST(ImportTest, NamelessInputsAndOutputs) {
  Model input;
  input.Input("", {2}).Output("y");
  input.Node("Relu", {""}, {"y"});
  ExpectError(input.Import().status(), "an input has no name");
  Model output;
  output.Input("x", {2}).Output("");
  ExpectError(output.Import().status(), "an output has no name");
}

TEST(ImportTest, AFirstResultThatNobodyNames) {
  Model model;
  model.Input("x", {1, 1, 4}).Output("i");
  SetInts(model.Node("MaxPool", {"x"}, {"", "i"}), "kernel_shape", {2});
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_NE(g->node(g->order()[0]).outputs[0], graph::kNone);
}

TEST(ImportTest, HugeClaimsAreRefusedBeforeAllocation) {
  Model model = Small();
  onnx::TensorProto& w = *model.proto.mutable_graph()->mutable_initializer(0);
  w.set_dims(0, int64_t{1} << 62);
  w.add_dims(8);
  ExpectError(model.Import().status(), "tensor 'w': its shape is [4611686018427387904,8]");
  w.clear_dims();
  w.add_dims(int64_t{1} << 40);
  w.clear_raw_data();
  ExpectError(model.Import().status(), "1099511627776 elements are needed");
  w.clear_dims();
  w.add_dims(-1);
  ExpectError(model.Import().status(), "its shape is [-1]");
}

TEST(ImportTest, Opsets) {
  ExpectError(Model(24).Import().status(), "it uses opset 24; this compiler reads opsets 1 to 23");
  Model none = Small();
  none.proto.clear_opset_import();
  ExpectError(none.Import().status(), "it does not say which opset it uses");
  Model other = Small();
  other.proto.add_opset_import()->set_domain("ai.onnx.ml");
  EXPECT_TRUE(other.Import().ok());
}

TEST(ImportTest, UnnamedNodesGoByTheirOutput) {
  Model model = Small();
  model.proto.mutable_graph()->mutable_node(1)->clear_name();
  EXPECT_EQ(model.Import()->node(0).sources, (std::vector<std::string>{"s"}));
}

TEST(ImportTest, OptionalInputsAndUnusedOutputs) {
  Model model;
  model.Input("x", {1, 2, 4, 4}).Output("y");
  model.Floats("six", {}, {6});
  model.Node("Clip", {"x", "", "six"}, {"c"});
  SetInts(model.Node("MaxPool", {"c"}, {"y", "indices"}), "kernel_shape", {2, 2});
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_FALSE(graph->node(graph->order()[0]).HasInput(1));
  EXPECT_TRUE(graph->node(graph->order()[0]).HasInput(2));
  EXPECT_EQ(graph->node(graph->order()[1]).outputs.size(), 1u);
  model.Output("indices");
  const auto both = model.Import();
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_EQ(both->node(both->order()[1]).outputs.size(), 2u);
}

TEST(ImportTest, ElementTypesThatAreNotSupported) {
  Model model = Small();
  model.Input("text", {1}, 8);
  ExpectError(model.Import().status(), "input 'text' has the element type string");
  Model sequence = Small();
  auto* info = sequence.proto.mutable_graph()->add_input();
  info->set_name("list");
  info->mutable_type()->mutable_sequence_type();
  ExpectError(sequence.Import().status(), "input 'list' is a sequence");
}

TEST(ImportTest, ConstantNodes) {
  Model model;
  model.Output("y");
  SetFloat(model.Node("Constant", {}, {"a"}), "value_float", 2.5f);
  SetInts(model.Node("Constant", {}, {"b"}), "value_ints", {3});
  model.Node("Identity", {"a"}, {"y"});
  model.Output("b");
  const auto graph = model.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->value(graph->outputs()[0]).constant->AsDoubles(), (std::vector<double>{2.5}));
  EXPECT_EQ(graph->value(graph->outputs()[1]).constant->AsInts(), (Ints{3}));
}

}  // namespace
}  // namespace temper::importer
