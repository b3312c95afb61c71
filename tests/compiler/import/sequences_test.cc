// Sequences become the tensors in them.
#include "compiler/import/sequences.h"

#include <gtest/gtest.h>

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

// Inputs a and b, and s = [a, b, a].
Model Three() {
  Model model;
  model.Input("a", {2, 3}).Input("b", {2, 3}).Output("y");
  model.Node("SequenceConstruct", {"a", "b", "a"}, {"s"});
  for (int64_t i = -4; i < 5; ++i) model.IntList("at" + std::to_string(i), {i});
  return model;
}

// The name of the value that is the model's only output.
std::string OutputOf(const Model& model) {
  const auto g = model.Import();
  if (!g.ok()) return g.status().message();
  EXPECT_EQ(Ops(*g), "");
  return g->value(g->outputs()[0]).name;
}

TEST(SequencesTest, PositionsCountFromBothEnds) {
  for (const auto& [at, want] : {std::pair{"at1", "b"}, {"at-2", "b"}, {"at2", "a"}}) {
    Model model = Three();
    model.Node("SequenceAt", {"s", at}, {"y"});
    EXPECT_EQ(OutputOf(model), want);
  }
  for (const char* at : {"at3", "at-4"}) {
    Model model = Three();
    model.Node("SequenceAt", {"s", at}, {"y"});
    ExpectError(model.Import().status(), "SequenceAt 'n_y': position ");
  }
}

TEST(SequencesTest, InsertingAndErasingLeaveTheOthersWhereTheyWere) {
  Model model = Three();
  model.Node("SequenceErase", {"s", "at-3"}, {"t"});       // b a
  model.Node("SequenceInsert", {"t", "a", "at0"}, {"u"});  // a b a
  model.Node("SequenceErase", {"u"}, {"v"});               // a b
  model.Node("Identity", {"v"}, {"w"});
  model.Node("SequenceAt", {"w", "at-1"}, {"y"});
  EXPECT_EQ(OutputOf(model), "b");
  model.proto.mutable_graph()->mutable_node(5)->set_input(0, "s");  // s itself stays
  EXPECT_EQ(OutputOf(model), "a");
}

TEST(SequencesTest, ConcatAndSplit) {
  Model model = Three();
  SetInt(model.Node("ConcatFromSequence", {"s"}, {"c"}), "axis", 1);
  SetInt(model.Node("SplitToSequence", {"c", "at4"}, {"t"}), "axis", -1);
  model.Node("SequenceLength", {"t"}, {"n"});
  model.Node("SequenceAt", {"t", "at2"}, {"y"});
  model.Output("n");
  const auto g = model.Import();
  // [2, 9] in parts of 4 (a list of one size would have to add up to 9).
  ExpectError(g.status(), "Split");
  model.proto.mutable_graph()->mutable_initializer(8)->clear_dims();
  const auto again = model.Import();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(Ops(*again), "Concat Split");
  EXPECT_EQ(again->type(again->outputs()[0]).ToString(), "float32[2,1]");
  EXPECT_EQ(again->value(again->outputs()[1]).constant->IntAt(0), 3);
}

TEST(SequencesTest, NewAxisAndDroppedAxis) {
  Model model = Three();
  onnx::NodeProto& node = model.Node("ConcatFromSequence", {"s"}, {"c"});
  SetInt(node, "axis", 0);
  SetInt(node, "new_axis", 1);
  SetInt(model.Node("SplitToSequence", {"c"}, {"t"}), "keepdims", 0);
  model.Node("SequenceAt", {"t", "at0"}, {"y"});
  const auto g = model.Import();
  ASSERT_TRUE(g.ok()) << g.status().message();
  EXPECT_EQ(g->type(g->outputs()[0]).ToString(), "float32[2,3]");
}

TEST(SequencesTest, WhereTheyMayNotGo) {
  Model relu = Three();
  relu.Node("Relu", {"s"}, {"y"});
  ExpectError(relu.Import().status(), "Relu 'n_y': its input 's' is a sequence;");
  Model output = Three();
  output.Node("Identity", {"s"}, {"y"});
  ExpectError(output.Import().status(), "output 'y' is a sequence;");
  Model position = Three();
  position.Input("p", {}, 7);
  position.Node("SequenceAt", {"s", "p"}, {"y"});
  ExpectError(position.Import().status(), "its position is only known at run time");
  Model tensor = Three();
  tensor.Node("SequenceLength", {"a"}, {"y"});
  ExpectError(tensor.Import().status(), "SequenceLength 'n_y': input 0 must be a sequence");
}

}  // namespace
}  // namespace temper::importer
