// Functions of the model: their bodies take the calls' places.
#include <gtest/gtest.h>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

onnx::FunctionProto& AddFunction(Model& model, const std::string& name,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  onnx::FunctionProto* f = model.proto.add_functions();
  f->set_name(name);
  f->set_domain("local");
  for (const std::string& input : inputs) f->add_input(input);
  for (const std::string& output : outputs) f->add_output(output);
  f->add_opset_import()->set_version(21);
  return *f;
}

onnx::NodeProto& AddTo(onnx::FunctionProto& f, const std::string& op,
                       const std::vector<std::string>& inputs, const std::string& output,
                       const std::string& domain = "") {
  onnx::NodeProto* node = f.add_node();
  node->set_op_type(op);
  node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return *node;
}

TEST(FunctionTest, BodyTakesThePlaceOfTheCall) {
  Model model;
  model.Input("x", {2}).Output("y");
  model.Node("Twice", {"x"}, {"y"}).set_domain("local");
  onnx::FunctionProto& twice = AddFunction(model, "Twice", {"a"}, {"c"});
  // Its names are its own: "x" is not the model's.
  AddTo(twice, "Relu", {"a"}, "x");
  AddTo(twice, "Add", {"x", "x"}, "c");
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(Ops(*g), "Relu Add");
  EXPECT_EQ(g->node(g->order()[0]).sources, std::vector<std::string>{"n_y/x"});
}

TEST(FunctionTest, AttributesComeFromTheCallOrTheDefault) {
  for (const bool given : {true, false}) {
    Model model;
    model.Input("x", {2}).Output("y");
    onnx::NodeProto& call = model.Node("Leaky", {"x"}, {"y"});
    call.set_domain("local");
    if (given) SetFloat(call, "slope", 0.5f);
    onnx::FunctionProto& leaky = AddFunction(model, "Leaky", {"a"}, {"b"});
    onnx::AttributeProto* slope = leaky.add_attribute_proto();
    slope->set_name("slope");
    slope->set_type(1);
    slope->set_f(0.25f);
    onnx::AttributeProto* alpha = AddTo(leaky, "LeakyRelu", {"a"}, "b").add_attribute();
    alpha->set_name("alpha");
    alpha->set_type(1);
    alpha->set_ref_attr_name("slope");
    const auto g = model.Import();
    ASSERT_TRUE(g.ok()) << g.status().message();
    EXPECT_EQ(g->node(g->order()[0]).Float("alpha", 0), given ? 0.5f : 0.25f);
  }
}

TEST(FunctionTest, OneThatCallsItselfIsRefused) {
  Model model;
  model.Input("x", {2}).Output("y");
  model.Node("Self", {"x"}, {"y"}).set_domain("local");
  AddTo(AddFunction(model, "Self", {"a"}, {"b"}), "Self", {"a"}, "b", "local");
  ExpectError(model.Import().status(), "functions are nested too deeply");
}

TEST(FunctionTest, LongChainsOfCallsAreRefused) {
  Model model;
  model.Input("x", {2}).Output("y");
  model.Node("F0", {"x"}, {"y"}).set_domain("local");
  constexpr int kLong = 100000;
  for (int i = 0; i < kLong; ++i) {
    AddTo(AddFunction(model, "F" + std::to_string(i), {"a"}, {"b"}),
          i + 1 < kLong ? "F" + std::to_string(i + 1) : "Relu", {"a"}, "b",
          i + 1 < kLong ? "local" : "");
  }
  ExpectError(model.Import().status(), "functions are nested too deeply");
}

TEST(FunctionTest, UnknownOperatorsInFunctionsAreListed) {
  Model model;
  model.Input("x", {2}).Output("y");
  model.Node("Odd", {"x"}, {"y"}).set_domain("local");
  AddTo(AddFunction(model, "Odd", {"a"}, {"b"}), "Frobnicate", {"a"}, "b");
  ExpectError(model.Import().status(), "an operator is not supported: Frobnicate (node 'b')");
}

TEST(FunctionTest, DoublingFunctionsHitTheLimitOfNodes) {
  Model model;
  model.Input("x", {2}).Output("y");
  model.Node("F0", {"x"}, {"y"}).set_domain("local");
  for (int i = 0; i < 30; ++i) {
    onnx::FunctionProto& f = AddFunction(model, "F" + std::to_string(i), {"a"}, {"c"});
    const std::string next = i < 29 ? "F" + std::to_string(i + 1) : "Relu";
    const std::string domain = i < 29 ? "local" : "";
    AddTo(f, next, {"a"}, "b", domain);
    AddTo(f, next, {"b"}, "c", domain);
  }
  ExpectError(model.Import().status(), "more than 1048576 nodes");
}

}  // namespace
}  // namespace temper::importer
