// Attributes that an operator does not have, or not of that type, are refused: their default would
// give other values than the model means.
#include "compiler/import/attribute_list.h"

#include <gtest/gtest.h>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

onnx::NodeProto NodeOf(const std::string& op) {
  onnx::NodeProto node;
  node.set_op_type(op);
  return node;
}

TEST(AttributeListTest, EachOpsetHasItsOwn) {
  onnx::NodeProto squeeze = NodeOf("Squeeze");
  SetInts(squeeze, "axes", {0});
  EXPECT_TRUE(CheckAttributes(squeeze, 12).ok());
  ExpectError(CheckAttributes(squeeze, 13),
              "attribute 'axes' is none of this operator's in opset 13 (it has: none)");
  onnx::NodeProto conv = NodeOf("Conv");
  SetInts(conv, "stride", {2, 2});
  ExpectError(CheckAttributes(conv, 21), "(it has: auto_pad, dilations, group, kernel_shape, pads");
  onnx::NodeProto relu = NodeOf("Relu");
  SetInt(relu, "axis\n", 1);
  ExpectError(CheckAttributes(relu, 21), "attribute 'axis\\n' is none");
}

TEST(AttributeListTest, TypesAreThoseOfTheOpset) {
  onnx::NodeProto node = NodeOf("Conv");
  SetInt(node, "strides", 2);
  ExpectError(CheckAttributes(node, 21), "attribute 'strides' is an integer; it must be a list of");
  onnx::NodeProto cast = NodeOf("Cast");
  SetInt(cast, "to", 1);
  EXPECT_TRUE(CheckAttributes(cast, 6).ok());
  ExpectError(CheckAttributes(cast, 5), "attribute 'to' is an integer; it must be a string");
  onnx::NodeProto pad = NodeOf("Pad");
  SetFloat(pad, "pads", 1);
  ExpectError(CheckAttributes(pad, 2),
              "attribute 'pads' is a float; it must be a list of integers");
}

TEST(AttributeListTest, WithoutATypeItIsWhatItHolds) {
  onnx::NodeProto node = NodeOf("Conv");
  onnx::AttributeProto* a = node.add_attribute();
  a->set_name("group");
  ExpectError(CheckAttributes(node, 1), "attribute 'group' is without a value");
  a->set_i(0);
  EXPECT_TRUE(CheckAttributes(node, 1).ok());
  a->set_name("pads");  // an empty list has no value either
  a->clear_i();
  EXPECT_TRUE(CheckAttributes(node, 1).ok());
}

TEST(AttributeListTest, SomeMustBeThere) {
  ExpectError(CheckAttributes(NodeOf("Concat"), 4), "attribute 'axis' is missing");
  EXPECT_TRUE(CheckAttributes(NodeOf("Concat"), 3).ok());  // then it had a default
  EXPECT_TRUE(CheckAttributes(NodeOf("Unsqueeze"), 13).ok());
  ExpectError(CheckAttributes(NodeOf("Unsqueeze"), 12), "attribute 'axes' is missing");
}

TEST(AttributeListTest, ALaterOperatorMayBeUsedEarlierAndHintsAreIgnored) {
  onnx::NodeProto norm = NodeOf("LayerNormalization");
  SetInt(norm, "axis", -1);
  EXPECT_TRUE(CheckAttributes(norm, 13).ok());
  onnx::NodeProto relu = NodeOf("Relu");
  SetInts(relu, "consumed_inputs", {0});
  EXPECT_TRUE(CheckAttributes(relu, 13).ok());
}

TEST(AttributeListTest, AModelIsRefusedWithTheNode) {
  Model model;
  model.Input("x", {1, 3, 8, 8}).Output("y");
  model.Floats("w", {2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  SetFloat(model.Node("Conv", {"x", "w"}, {"y"}), "group", 1);
  ExpectError(model.Import().status(), "Conv 'n_y': attribute 'group' is a float; it must be an");
}

// A function's body takes an attribute of its call, which the call gives as another type.
TEST(AttributeListTest, AReferenceHasTheTypeThatItStates) {
  const auto model_with = [](bool right) {
    Model model;
    model.Input("x", {2, 3}).Output("y");
    auto* import = model.proto.add_opset_import();
    import->set_domain("my");
    import->set_version(1);
    onnx::NodeProto& call = model.Node("F", {"x"}, {"y"});
    call.set_domain("my");
    right ? SetInt(call, "a", 0) : SetFloat(call, "a", 0);
    onnx::FunctionProto* f = model.proto.add_functions();
    f->set_name("F");
    f->set_domain("my");
    f->add_input("p");
    f->add_output("q");
    f->add_attribute("a");
    onnx::NodeProto* node = f->add_node();
    node->set_op_type("Softmax");
    node->add_input("p");
    node->add_output("q");
    onnx::AttributeProto* axis = node->add_attribute();
    axis->set_name("axis");
    axis->set_type(2);
    axis->set_ref_attr_name("a");
    return model.Import().status();
  };
  EXPECT_TRUE(model_with(true).ok()) << model_with(true).message();
  ExpectError(model_with(false),
              "attribute 'axis': the function's attribute 'a' is of another type");
}

}  // namespace
}  // namespace temper::importer
