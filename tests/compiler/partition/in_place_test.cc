// Concatenations and slices without a kernel. Every net is also run with kernels for them.
#include "compiler/partition/in_place.h"

#include <gtest/gtest.h>

#include "compiler/graph/verify.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/partition.h"
#include "tests/compiler/ops/case_file.h"
#include "tests/compiler/partition/net.h"

namespace temper::testing {
namespace {

using partition::Partition;

std::vector<double> FirstOutput(const Net& net, const Partition& p) {
  auto values = RunKernels(net.graph, p, net.inputs);
  EXPECT_TRUE(values.ok()) << values.status().ToString() << "\n" << partition::Print(net.graph, p);
  if (!values.ok()) return {};
  const int output = net.graph.outputs()[0];
  return ToDoubles(*net.graph.type(output).dtype, values->at(output));
}

Partition Check(Net& net) {
  EXPECT_TRUE(partition::MaterializeOutputs(net.graph).ok());
  EXPECT_TRUE(partition::MoveChannelsLast(net.graph, {}).ok());
  EXPECT_TRUE(partition::CopyIntoConcats(net.graph).ok());
  EXPECT_TRUE(graph::Verify(net.graph).ok()) << graph::Verify(net.graph).ToString();
  partition::PartitionOptions plain;
  plain.in_place = false;
  auto expected = partition::PartitionGraph(net.graph, plain);
  auto got = partition::PartitionGraph(net.graph, {});
  EXPECT_TRUE(expected.ok() && got.ok()) << expected.status().ToString() << got.status().ToString();
  if (!expected.ok() || !got.ok()) return {};
  EXPECT_EQ(Difference(FirstOutput(net, *got), FirstOutput(net, *expected), 1e-5), "")
      << partition::Print(net.graph, *got);
  return *got;
}

size_t KernelsWith(const Partition& p, const std::string& op) {
  size_t count = 0;
  for (const auto& kernel : p.kernels) {
    count += kernel.program.name.find(op) != std::string::npos ? 1 : 0;
  }
  return count;
}

int Concat(Net& net, std::vector<int> operands, int64_t axis = 1) {
  graph::Shape shape = net.graph.shape(operands[0]);
  shape[axis] = 0;
  for (int x : operands) shape[axis] += net.graph.shape(x)[axis];
  return net.Node("Concat", std::move(operands), shape, {{"axis", axis}});
}

// Two branches write into the channels of one value, beside each other's; its consumer's padding
// is around all of them.
TEST(InPlace, BranchesWriteIntoTheirConcat) {
  Net net;
  const int x = net.Same("Relu", net.Conv(net.Input({1, 3, 6, 6}), 8, 3));
  const int a = net.Same("Relu", net.Conv(x, 12, 1)), b = net.Conv(x, 20, 3);
  net.Output(net.Conv(Concat(net, {a, b}), 4, 3));
  const Partition p = Check(net);
  EXPECT_EQ(KernelsWith(p, "Concat"), 0u) << partition::Print(net.graph, p);
  ASSERT_EQ(p.in_place.parts.size(), 2u);
  const int whole = p.in_place.parts.begin()->second.of;
  EXPECT_EQ(p.halos.at(whole).before, (std::vector<int64_t>{0, 1, 1, 0}));
  for (const auto& [value, part] : p.in_place.parts) {
    const ops::Halo& halo = p.halos.at(value);
    EXPECT_EQ(part.of, whole);
    // 12 elements are no multiple of 64 bytes: the second part begins in the first one's line.
    EXPECT_EQ(p.places.at(value).offset, 0);
    EXPECT_EQ(halo.before, (std::vector<int64_t>{0, 1, 1, part.begin}));
    EXPECT_EQ(halo.after[3], part.begin == 0 ? 20 : 0);
  }
}

// Gaps between its pixels would keep a convolution's groups from becoming an axis.
TEST(InPlace, GroupsOfSeveralChannelsAreNoParts) {
  Net net;
  const int x = net.Same("Relu", net.Conv(net.Input({1, 3, 6, 6}), 8, 3));
  const int a = net.Conv(x, 16, 1), b = net.Same("Relu", net.Conv(x, 16, 1, 1, 2));
  net.Output(net.Conv(Concat(net, {a, b}), 4, 3));
  const Partition p = Check(net);
  EXPECT_EQ(p.in_place.parts.size(), 0u) << partition::Print(net.graph, p);
  EXPECT_EQ(KernelsWith(p, "Concat"), 1u);
}

// A dense block: each concatenation is the beginning of the next.
TEST(InPlace, AConcatOfAConcatIsOnePieceOfMemory) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 3, 5, 5}), 32, 3));
  for (int layer = 0; layer < 3; ++layer) {
    x = Concat(net, {x, net.Conv(net.Same("Relu", net.Conv(x, 8, 1)), 16, 3)});
  }
  net.Output(net.Conv(net.Same("Relu", x), 4, 1));
  const Partition p = Check(net);
  EXPECT_EQ(KernelsWith(p, "Concat"), 0u) << partition::Print(net.graph, p);
  ASSERT_EQ(p.places.size(), 6u);
  int root = -1;
  std::vector<int64_t> offsets;
  for (const auto& [value, place] : p.places) {
    if (root < 0) root = place.of;
    EXPECT_EQ(place.of, root);
    EXPECT_EQ(net.graph.shape(value)[3] + p.halos.at(value).before[3] + p.halos.at(value).after[3],
              80);
    if (place.offset > 0) offsets.push_back(place.offset);
  }
  EXPECT_EQ(offsets, (std::vector<int64_t>{128, 192, 256}));
}

TEST(InPlace, HalvesOfASplitAreViews) {
  Net net;
  const int x = net.Same("Relu", net.Conv(net.Input({1, 3, 5, 5}), 40, 3));
  const graph::Shape half = {1, 20, 5, 5};
  const int id = net.graph.AddNode("Split", {x}, {"left", "right"}, {{"axis", int64_t{1}}});
  const std::vector<int> halves = net.graph.node(id).outputs;
  for (int value : halves) net.graph.SetType(value, graph::TensorType(DType::kFloat32, half));
  net.Output(net.Add(net.Conv(halves[0], 20, 3), net.Conv(halves[1], 20, 1)));
  const Partition p = Check(net);
  EXPECT_EQ(KernelsWith(p, "Split"), 0u) << partition::Print(net.graph, p);
  EXPECT_EQ(p.places.size(), 2u);
}

// Along the outermost axis parts are dense, so that a Reshape of one stays a view.
TEST(InPlace, OuterPartsHaveNoGaps) {
  Net net;
  const int x = net.Same("Sigmoid", net.Input({3, 4, 16}));
  auto number = [&](int64_t n) {
    return net.graph.AddConstant("n", graph::MakeInts({1}, {&n, 1}));
  };
  const int slice = net.Node("Slice", {x, number(1), number(3), number(0)}, {2, 4, 16});
  net.Output(net.Node("MatMul", {slice, net.Weight({16, 3})}, {2, 4, 3}));
  const Partition p = Check(net);
  EXPECT_EQ(KernelsWith(p, "Slice"), 0u) << partition::Print(net.graph, p);
  ASSERT_EQ(p.places.size(), 1u);
  EXPECT_EQ(p.places.begin()->second.offset, 256);
  EXPECT_EQ(p.halos.size(), 0u);
}

// Inputs of the model are copied where the other operands are most of the result; else the whole is
// copied.
TEST(InPlace, OperandsOfTheCallerAreCopied) {
  for (const int inputs : {1, 2}) {
    Net net;
    std::vector<int> operands;
    for (int i = 0; i < inputs; ++i) operands.push_back(net.Input({2, 3, 20}));
    operands.push_back(net.Same("Sigmoid", operands[0]));
    const int y = Concat(net, operands, 2);
    const int64_t width = 20 * (inputs + 1);
    net.Output(net.Node("MatMul", {y, net.Weight({width, 4})}, {2, 3, 4}));
    const Partition p = Check(net);
    EXPECT_EQ(KernelsWith(p, "Concat"), inputs == 1 ? 0u : 1u) << partition::Print(net.graph, p);
    EXPECT_EQ(KernelsWith(p, "Identity"), inputs == 1 ? 1u : 0u) << partition::Print(net.graph, p);
  }
}

// The same value twice, and a value of two concatenations: the first place is its own.
TEST(InPlace, AValueHasOnePlace) {
  Net net;
  const int x = net.Same("Relu", net.Conv(net.Input({1, 3, 5, 5}), 16, 3));
  const int y = Concat(net, {x, net.Conv(x, 16, 1), x});
  const int z = Concat(net, {x, net.Conv(x, 32, 3)});
  net.Output(net.Add(net.Conv(y, 4, 1), net.Conv(z, 4, 1)));
  const Partition p = Check(net);
  EXPECT_EQ(KernelsWith(p, "Concat"), 0u) << partition::Print(net.graph, p);
  EXPECT_EQ(KernelsWith(p, "Identity"), 2u) << partition::Print(net.graph, p);
}

// Outputs of the model are dense and their own.
TEST(InPlace, OutputsAreNoParts) {
  Net net;
  const int x = net.Same("Sigmoid", net.Input({2, 3, 16}));
  const int a = net.Same("Exp", x), b = net.Same("Sqrt", x);
  const int y = Concat(net, {a, b}, 2);
  net.Output(y);
  net.Output(net.Same("Exp", Concat(net, {b, net.Same("Neg", x)}, 2)));
  net.Output(b);
  const Partition p = Check(net);
  for (int output : net.graph.outputs()) EXPECT_EQ(p.places.count(output), 0u);
  for (const auto& [value, part] : p.in_place.parts) {
    EXPECT_FALSE(net.graph.IsOutput(part.of));
  }
}

}  // namespace
}  // namespace temper::testing
