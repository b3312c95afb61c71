// Every operator against ONNX Runtime: as ONNX has it, and channels-last with halos.
#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "tests/compiler/ops/case_file.h"

namespace temper::testing {
namespace {

constexpr char kCases[] = "tests/compiler/ops/cases.json";

void Check(OpCase& c) {
  auto partition = partition::PartitionGraph(c.graph, {});
  ASSERT_TRUE(partition.ok()) << partition.status().ToString();
  auto values = RunKernels(c.graph, *partition, c.inputs);
  ASSERT_TRUE(values.ok()) << values.status().ToString() << "\n"
                           << partition::Print(c.graph, *partition);
  for (size_t i = 0; i < c.expected.size(); ++i) {
    const int output = c.graph.outputs()[i];
    const auto got = ToDoubles(*c.graph.type(output).dtype, values->at(output));
    EXPECT_EQ(Difference(got, c.expected[i], 2e-5), "") << "output " << i;
  }
}

TEST(OpCases, AgreeWithOnnxRuntime) {
  std::vector<OpCase> cases = LoadOpCases(kCases);
  ASSERT_GT(cases.size(), 200u);
  for (OpCase& c : cases) {
    SCOPED_TRACE(c.name);
    Check(c);
  }
}

// A pool of one pixel in front makes the node's operand a value between kernels, with a halo.
TEST(OpCases, AgreeInChannelsLastFormBehindAnotherKernel) {
  int moved = 0;
  for (OpCase& c : LoadOpCases(kCases)) {
    SCOPED_TRACE(c.name);
    const graph::Node node = c.graph.node(c.graph.order()[0]);
    const ops::OpEntry* entry = ops::FindBuilder(node);
    const int x = node.Input(0);
    if (entry == nullptr || !entry->channels_last || c.graph.value(x).IsConstant()) continue;
    const int identity = c.graph.InsertBefore(
        node.id, "MaxPool", {x}, {"before"},
        {{"kernel_shape", std::vector<int64_t>(c.graph.shape(x).size() - 2, 1)}});
    const int before = c.graph.node(identity).outputs[0];
    c.graph.SetType(before, c.graph.type(x));
    c.graph.SetInput(node.id, 0, before);
    ASSERT_TRUE(partition::ChannelsLast(c.graph).ok());
    int forms = 0;
    for (int id : c.graph.order()) forms += c.graph.node(id).domain == "temper";
    EXPECT_EQ(forms, 2);
    Check(c);
    ++moved;
  }
  EXPECT_GT(moved, 25);
}

TEST(OpTable, KnowsTheChannelsLastFormsOnly) {
  EXPECT_NE(ops::FindBuilder("", "Softmax"), nullptr);
  EXPECT_EQ(ops::FindBuilder("temper", "Softmax"), nullptr);
  EXPECT_NE(ops::FindBuilder("temper", "Conv"), nullptr);
  EXPECT_EQ(ops::FindBuilder("com.example", "Conv"), nullptr);
  EXPECT_EQ(ops::FindBuilder("", "NoSuchOp"), nullptr);
}

}  // namespace
}  // namespace temper::testing
