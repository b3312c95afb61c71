// Every operator against ONNX Runtime: as ONNX has it, and channels-last with halos.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/graph/passes/decompose.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/op_table.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/split_transposed.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "tests/compiler/ops/case_file.h"
#include "tuner/space/space.h"

namespace temper::testing {
namespace {

constexpr char kCases[] = "tests/compiler/ops/cases.json";

// Operators that are compositions of others are taken apart first, as the driver does.
std::vector<OpCase> Load() {
  std::vector<OpCase> cases = LoadOpCases(kCases);
  for (OpCase& c : cases) {
    const Status status = graph::RunDecompose(c.graph);
    EXPECT_TRUE(status.ok()) << c.name << ": " << status.ToString();
    EXPECT_TRUE(partition::MaterializeOutputs(c.graph).ok());
  }
  return cases;
}

void Check(const OpCase& c, const RunOptions& options = {}) {
  auto partition = partition::PartitionGraph(c.graph, {});
  ASSERT_TRUE(partition.ok()) << partition.status().ToString();
  auto values = RunKernels(c.graph, *partition, c.inputs, options);
  ASSERT_TRUE(values.ok()) << values.status().ToString() << "\n"
                           << partition::Print(c.graph, *partition);
  for (size_t i = 0; i < c.expected.size(); ++i) {
    const int output = c.graph.outputs()[i];
    const auto got = ToDoubles(*c.graph.type(output).dtype, values->at(output));
    EXPECT_EQ(Difference(got, c.expected[i], 2e-5), "") << "output " << i;
  }
}

// A pool of one pixel in front makes the node's operand a value between kernels, with a halo.
// False if the operator has no channels-last form.
bool MoveBehindAnotherKernel(OpCase& c) {
  const graph::Node node = c.graph.node(c.graph.order()[0]);
  const ops::OpEntry* entry = ops::FindBuilder(node);
  const int x = node.Input(0);
  if (entry == nullptr || !entry->channels_last || c.graph.value(x).IsConstant()) return false;
  const int pool = c.graph.InsertBefore(
      node.id, "MaxPool", {x}, {"before"},
      {{"kernel_shape", std::vector<int64_t>(c.graph.shape(x).size() - 2, 1)}});
  const int before = c.graph.node(pool).outputs[0];
  c.graph.SetType(before, c.graph.type(x));
  c.graph.SetInput(node.id, 0, before);
  EXPECT_TRUE(partition::MoveChannelsLast(c.graph, {}).ok());
  int forms = 0;
  for (int id : c.graph.order()) forms += c.graph.node(id).domain == "temper";
  EXPECT_EQ(forms, 2);
  EXPECT_TRUE(partition::SplitTransposed(c.graph).ok());
  return true;
}

TEST(OpCases, AgreeWithOnnxRuntime) {
  std::vector<OpCase> cases = Load();
  ASSERT_GT(cases.size(), 200u);
  for (OpCase& c : cases) {
    SCOPED_TRACE(c.name);
    Check(c);
  }
}

TEST(OpCases, AgreeInChannelsLastFormBehindAnotherKernel) {
  int moved = 0;
  for (OpCase& c : Load()) {
    SCOPED_TRACE(c.name);
    if (!MoveBehindAnotherKernel(c)) continue;
    Check(c);
    ++moved;
  }
  EXPECT_GT(moved, 25);
}

// What the search would try on real operators, as loops and as vectors.
TEST(OpCases, AgreeByRandomSchedules) {
  int random = 0, illegal = 0;
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    const auto target = ParseTarget(name);
    ASSERT_TRUE(target.ok());
    Rng rng(7);
    RunOptions options;
    options.target = *target;
    std::string shown;
    options.schedule = [&](const te::Program& program) {
      const auto space = tuner::Space::Create(program, *target, 2);
      for (int i = 0; i < 20; ++i) {
        auto built = space.Build(space.Sample(rng, 0.2));
        if (built.ok()) {
          ++random;
          shown = schedule::ToText(*built);
          return *built;
        }
      }
      ++illegal;
      shown = te::CanonicalText(program);
      return lower::ReferenceSchedule(program, *target);
    };
    for (OpCase& c : Load()) {
      for (int round = 0; round < 6; ++round) {
        if (round == 2) MoveBehindAnotherKernel(c);
        options.finish = round % 2 == 1;
        SCOPED_TRACE(c.name);
        Check(c, options);
        if (HasFailure()) FAIL() << shown;
      }
    }
  }
  EXPECT_GT(random, 1500);
  EXPECT_EQ(illegal, 0);
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
