#include "compiler/partition/partition.h"

#include <gtest/gtest.h>

#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/split_transposed.h"
#include "tests/compiler/ops/case_file.h"
#include "tests/compiler/partition/net.h"

namespace temper::testing {
namespace {

using partition::Partition;
using partition::PartitionGraph;

std::vector<std::string> Names(const Partition& p) {
  std::vector<std::string> names;
  for (const auto& kernel : p.kernels) names.push_back(kernel.program.name);
  return names;
}

std::vector<std::vector<double>> Results(const graph::Graph& graph, const Partition& p,
                                         const std::map<int, Bytes>& inputs) {
  auto values = RunKernels(graph, p, inputs);
  EXPECT_TRUE(values.ok()) << values.status().ToString() << "\n" << partition::Print(graph, p);
  std::vector<std::vector<double>> results;
  if (!values.ok()) return results;
  for (int output : graph.outputs()) {
    results.push_back(ToDoubles(*graph.type(output).dtype, values->at(output)));
  }
  return results;
}

// Prepares the graph and partitions it; checks it against one kernel a node of the graph as it
// was. `all_last`: however small the network, and so whatever a change of layout costs.
Partition PartitionAndCheck(Net& net, const partition::PartitionOptions& options = {},
                            bool all_last = false) {
  EXPECT_TRUE(partition::MaterializeOutputs(net.graph).ok());
  const graph::Graph original = net.graph;
  auto plain = PartitionGraph(original, {partition::ChooseSingles, {}});
  EXPECT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_TRUE(
      (all_last ? partition::MoveChannelsLast(net.graph, {}) : partition::ChannelsLast(net.graph))
          .ok());
  EXPECT_TRUE(partition::DropReducedDimensions(net.graph).ok());
  EXPECT_TRUE(partition::SplitTransposed(net.graph).ok());
  EXPECT_TRUE(graph::Verify(net.graph).ok()) << graph::Verify(net.graph).ToString();
  auto fused = PartitionGraph(net.graph, options);
  EXPECT_TRUE(fused.ok()) << fused.status().ToString();
  if (!plain.ok() || !fused.ok()) return {};
  const auto expected = Results(original, *plain, net.inputs);
  const auto got = Results(net.graph, *fused, net.inputs);
  EXPECT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    EXPECT_EQ(Difference(got[i], expected[i], 1e-4), "") << "output " << i;
  }
  // Every node is in exactly one kernel, or in none because parts share memory.
  std::vector<int> nodes;
  for (const auto& kernel : fused->kernels) {
    nodes.insert(nodes.end(), kernel.nodes.begin(), kernel.nodes.end());
  }
  nodes.insert(nodes.end(), fused->in_place.nodes.begin(), fused->in_place.nodes.end());
  std::sort(nodes.begin(), nodes.end());
  std::vector<int> all = net.graph.order();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(nodes, all);
  return *fused;
}

TEST(Partition, ResidualBlocksBecomeOneKernelAConvolution) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 3, 17, 17}), 8, 7, 2));
  x = net.Node("MaxPool", {x}, {1, 8, 5, 5},
               {{"kernel_shape", std::vector<int64_t>{3, 3}},
                {"strides", std::vector<int64_t>{2, 2}},
                {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const int y = net.Conv(net.Same("Relu", net.Conv(x, 8, 3)), 8, 3);
  x = net.Same("Relu", net.Add(y, x));
  const int main = net.Conv(net.Same("Relu", net.Conv(x, 16, 3, 2)), 16, 3);
  x = net.Same("Relu", net.Add(main, net.Conv(x, 16, 1, 2)));
  x = net.Node("GlobalAveragePool", {x}, {1, 16, 1, 1});
  x = net.Node("Flatten", {x}, {1, 16}, {{"axis", int64_t{1}}});
  net.Output(net.Node("Gemm", {x, net.Weight({10, 16}), net.Weight({10})}, {1, 10},
                      {{"transB", int64_t{1}}}));
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(Names(p), (std::vector<std::string>{"Transpose", "Conv+Relu", "MaxPool", "Conv+Relu",
                                                "Conv+Add+Relu", "Conv+Relu", "Conv",
                                                "Conv+Add+Relu", "ReduceMean", "Gemm"}))
      << partition::Print(net.graph, p);
  // The converted input is written with the padding of the 7x7 window; the pool reads zeros for
  // its padding because nothing before it is negative.
  EXPECT_EQ(p.halos.at(p.kernels[0].output_values[0]).before, (std::vector<int64_t>{0, 3, 3, 0}));
  EXPECT_EQ(p.halos.at(p.kernels[1].output_values[0]).before, (std::vector<int64_t>{0, 1, 1, 0}));
  for (const auto& kernel : p.kernels) EXPECT_LE(kernel.program.stages.size(), 2u);
}

TEST(Partition, EqualLayersAreEqualPrograms) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 4, 6, 6}), 4, 3));
  x = net.Same("Relu", net.Conv(x, 4, 3));
  x = net.Same("Relu", net.Conv(x, 4, 3));
  net.Output(net.Same("Relu", net.Conv(x, 4, 3)));
  const Partition p = PartitionAndCheck(net);
  // conversion, 4 convolutions, conversion
  ASSERT_EQ(p.kernels.size(), 6u);
  const te::Program &a = p.kernels[1].program, &b = p.kernels[2].program;
  ASSERT_EQ(a.stages.size(), b.stages.size());
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < a.stages.size(); ++i) {
    EXPECT_TRUE(tir::Equal(a.stages[i].body, b.stages[i].body));
  }
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].shape, b.tensors[i].shape);
    EXPECT_EQ(a.tensors[i].halo_before, b.tensors[i].halo_before);
    EXPECT_EQ(a.tensors[i].constant, b.tensors[i].constant);
  }
}

TEST(Partition, SqueezeAndExciteFusesActivationsWithTheirConvolutions) {
  Net net;
  int x = net.Same("HardSwish", net.Conv(net.Input({1, 4, 6, 6}), 8, 3, 1));
  x = net.Same("HardSwish", net.Conv(x, 8, 3, 2, 8));
  int s = net.Node("GlobalAveragePool", {x}, {1, 8, 1, 1});
  s = net.Same("HardSigmoid", net.Conv(net.Same("Relu", net.Conv(s, 2, 1)), 8, 1));
  x = net.Node("Mul", {s, x}, net.graph.shape(x));
  net.Output(net.Conv(x, 4, 1));
  const Partition p = PartitionAndCheck(net, {}, true);
  EXPECT_EQ(Names(p),
            (std::vector<std::string>{"Transpose", "Conv+HardSwish", "Conv+HardSwish", "ReduceMean",
                                      "Conv+Relu", "Conv+HardSigmoid", "Mul", "Conv", "Transpose"}))
      << partition::Print(net.graph, p);
}

// x * clip(x + 3, 0, 6) / 6: x is read twice, and both readers are in the kernel.
TEST(Partition, AValueMayHaveSeveralReadersInsideItsKernel) {
  Net net;
  auto number = [&](float v) { return net.graph.AddConstant("c", graph::MakeScalar(v)); };
  const int x = net.Conv(net.Input({1, 4, 5, 5}), 4, 3);
  const graph::Shape shape = net.graph.shape(x);
  int y = net.Node("Add", {x, number(3)}, shape);
  y = net.Node("Clip", {y, number(0), number(6)}, shape);
  y = net.Node("Div", {net.Node("Mul", {x, y}, shape), number(6)}, shape);
  net.Output(net.Same("Relu", net.Conv(y, 3, 3)));
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(Names(p), (std::vector<std::string>{"Transpose", "Conv+Add+Clip+Mul+Div", "Conv+Relu",
                                                "Transpose"}))
      << partition::Print(net.graph, p);
  // Immediates, not operands.
  EXPECT_EQ(p.kernels[1].input_values.size(), 3u);
}

TEST(Partition, ManyReadersOrAnOutputEndAKernel) {
  Net net;
  const int a = net.Conv(net.Input({1, 4, 5, 5}), 4, 3);
  const int r = net.Same("Relu", a);
  const int b = net.Same("Sigmoid", net.Conv(r, 4, 3));
  const int c = net.Node("Concat", {r, b}, {1, 8, 5, 5}, {{"axis", int64_t{1}}});
  net.Output(net.Node("Softmax", {c}, {1, 8, 5, 5}, {{"axis", int64_t{1}}}));
  net.Output(a);
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(Names(p), (std::vector<std::string>{"Transpose", "Conv", "Relu", "Conv+Sigmoid",
                                                "Softmax", "Transpose", "Transpose"}))
      << partition::Print(net.graph, p);
}

TEST(Partition, LayoutFollowsThroughEveryKindOfOperator) {
  Net net;
  auto ints = [&](std::vector<int64_t> v) {
    return net.graph.AddConstant("i", graph::MakeInts({static_cast<int64_t>(v.size())}, v));
  };
  int x = net.Conv(net.Input({2, 3, 6, 5}), 4, 3);
  x = net.Node("Mul", {x, net.Weight({4, 1, 1})}, {2, 4, 6, 5});
  x = net.Node("Add", {x, net.Weight({1, 1, 6, 5})}, {2, 4, 6, 5});
  x = net.Node("Pad", {x, ints({0, 1, 0, 2, 0, 0, 1, 0})}, {2, 5, 7, 7});
  x = net.Node("Slice", {x, ints({1, 6}), ints({5, 0}), ints({1, 3}), ints({1, -2})}, {2, 4, 7, 3});
  x = net.Node("PRelu", {x, net.Weight({4, 1, 1})}, {2, 4, 7, 3});
  const int m = net.Node("ReduceMax", {x, ints({1})}, {2, 1, 7, 3}, {{"keepdims", int64_t{1}}});
  x = net.Node("Sub", {x, m}, {2, 4, 7, 3});
  x = net.Node("LRN", {x}, {2, 4, 7, 3}, {{"size", int64_t{3}}});
  x = net.Node("LogSoftmax", {x}, {2, 4, 7, 3}, {{"axis", int64_t{1}}});
  const int y = net.Node("Expand", {net.Conv(m, 4, 1), ints({2, 4, 7, 3})}, {2, 4, 7, 3});
  net.Output(
      net.Node("Concat", {y, x, net.Weight({2, 1, 7, 3})}, {2, 9, 7, 3}, {{"axis", int64_t{-3}}}));
  const Partition p = PartitionAndCheck(net);
  int transposes = 0;
  for (int id : net.graph.order()) transposes += net.graph.node(id).Is("Transpose");
  EXPECT_EQ(transposes, 2) << partition::Print(net.graph, p);
}

TEST(Partition, PixelsBetweenTheCallersTensorsKeepTheirOrder) {
  Net net;
  net.Output(net.Same("Relu", net.Conv(net.Input({1, 6, 12, 12}), 8, 1, 1)));
  EXPECT_EQ(Names(PartitionAndCheck(net)), (std::vector<std::string>{"Conv+Relu"}));
  // Few pixels leave most of a vector unused, which for many channels costs more than two changes.
  Net few;
  few.Output(few.Same("Relu", few.Conv(few.Input({1, 64, 3, 3}), 64, 1, 1)));
  EXPECT_EQ(Names(PartitionAndCheck(few)),
            (std::vector<std::string>{"Transpose", "Conv+Relu", "Transpose"}));
  Net deeper;
  deeper.Output(deeper.Conv(
      deeper.Same("Relu", deeper.Conv(deeper.Input({1, 16, 12, 12}), 16, 1, 1)), 16, 3, 1));
  EXPECT_EQ(Names(PartitionAndCheck(deeper)),
            (std::vector<std::string>{"Transpose", "Conv+Relu", "Conv", "Transpose"}));
}

TEST(Partition, WindowsAloneKeepTheCallersOrder) {
  const graph::Attributes window = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                    {"strides", std::vector<int64_t>{2, 2}},
                                    {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  for (const char* op : {"MaxPool", "AveragePool"}) {
    Net net;
    net.Output(net.Node(op, {net.Same("Relu", net.Input({1, 5, 9, 21}))}, {1, 5, 5, 11}, window));
    EXPECT_EQ(Names(PartitionAndCheck(net)), (std::vector<std::string>{"Relu", op}));
  }
  for (int64_t stride : {1, 2, 3}) {
    Net net;
    net.Output(net.Same("Relu", net.Conv(net.Input({1, 5, 8, 20}), 5, 5, stride, 5)));
    EXPECT_EQ(Names(PartitionAndCheck(net)), (std::vector<std::string>{"Conv+Relu"}));
  }
}

// A shuffle between a grouped convolution and one over each channel moves no memory.
TEST(Partition, WindowsReadShuffledPlanesWhereTheyAre) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 8, 12, 12}), 12, 1, 1, 2));
  const auto shape = [&](std::vector<int64_t> to) {
    return net.graph.AddConstant("shape", graph::MakeInts({static_cast<int64_t>(to.size())}, to));
  };
  x = net.Node("Reshape", {x, shape({1, 2, 6, 12, 12})}, {1, 2, 6, 12, 12});
  x = net.Node("Transpose", {x}, {1, 6, 2, 12, 12},
               {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
  x = net.Node("Reshape", {x, shape({1, 12, 12, 12})}, {1, 12, 12, 12});
  net.Output(net.Conv(net.Conv(x, 12, 3, 1, 12), 8, 1, 1, 2));
  EXPECT_EQ(Names(PartitionAndCheck(net)),
            (std::vector<std::string>{"Conv+Relu", "Reshape+Transpose+Reshape+Conv", "Conv"}));
}

// A transposed convolution whose windows do not overlap is a matrix product.
TEST(Partition, NonOverlappingTransposedConvolutionsAreProducts) {
  for (const bool biased : {false, true}) {
    Net net;
    const int x = net.Same("Relu", net.Conv(net.Input({2, 3, 4, 5}), 6, 1));
    std::vector<int> operands{x, net.Weight({6, 5, 2, 3})};
    if (biased) operands.push_back(net.Weight({5}));
    const int y = net.Node("ConvTranspose", operands, {2, 5, 8, 15},
                           {{"kernel_shape", std::vector<int64_t>{2, 3}},
                            {"strides", std::vector<int64_t>{2, 3}},
                            {"dilations", std::vector<int64_t>{1, 1}},
                            {"pads", std::vector<int64_t>{0, 0, 0, 0}},
                            {"group", int64_t{1}}});
    net.Output(net.Same("Sigmoid", net.Add(y, net.Weight({5, 1, 1}))));
    const Partition p = PartitionAndCheck(net);
    std::vector<std::string> names;
    for (const auto& kernel : p.kernels) {
      if (!kernel.view) names.push_back(kernel.program.name);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"Transpose", "Conv+Relu",
                                        biased ? "Einsum+Add+Add+Sigmoid" : "Einsum+Add+Sigmoid",
                                        "Reshape+Transpose"}))
        << partition::Print(net.graph, p);
  }
}

TEST(Partition, PhasesOfTransposedConvolutionsBecomeAxes) {
  struct Case {
    std::vector<int64_t> kernel, strides, pads;
    graph::Shape out;
    bool cut;
  };
  const Case cases[] = {
      {{3, 3}, {2, 2}, {1, 1, 0, 0}, {2, 5, 8, 10}, false},
      {{4, 4}, {2, 2}, {1, 1, 1, 1}, {2, 5, 8, 10}, false},
      {{3, 5}, {2, 3}, {0, 1, 0, 1}, {2, 5, 9, 15}, true},
      {{3, 1}, {1, 2}, {2, 0, 2, 0}, {2, 5, 2, 9}, true},
      {{2, 7}, {3, 2}, {1, 4, 0, 3}, {2, 5, 10, 8}, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(graph::ShapeToString(c.kernel));
    Net net;
    const int x = net.Same("Relu", net.Conv(net.Input({2, 3, 4, 5}), 6, 1));
    const int y = net.Node(
        "ConvTranspose", {x, net.Weight({6, 5, c.kernel[0], c.kernel[1]}), net.Weight({5})}, c.out,
        {{"kernel_shape", c.kernel},
         {"strides", c.strides},
         {"dilations", std::vector<int64_t>{1, 1}},
         {"pads", c.pads},
         {"group", int64_t{1}}});
    net.Output(net.Conv(net.Same("Relu", y), 4, 1));
    const Partition p = PartitionAndCheck(net, {}, true);
    std::vector<std::string> names;
    for (const auto& kernel : p.kernels) {
      if (!kernel.view) names.push_back(kernel.program.name);
    }
    std::vector<std::string> expected{"Transpose", "Conv+Relu", "PhaseConv+Add+Relu"};
    if (c.cut) expected.push_back("Reshape+Slice");
    expected.insert(expected.end(), {"Conv", "Transpose"});
    EXPECT_EQ(names, expected) << partition::Print(net.graph, p);
  }
}

TEST(Partition, TransposesOfTheModelCancelAndOthersRemain) {
  Net net;
  int x = net.Conv(net.Input({1, 3, 6, 5}), 4, 3);
  // Into channels-last and back, as models do around a LayerNormalization.
  x = net.Node("Transpose", {x}, {1, 6, 5, 4}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  x = net.Node("LayerNormalization", {x, net.Weight({4}), net.Weight({4})}, {1, 6, 5, 4},
               {{"axis", int64_t{-1}}});
  x = net.Node("Transpose", {x}, {1, 4, 6, 5}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  x = net.Conv(x, 4, 1);
  const int t =
      net.Node("Transpose", {x}, {1, 4, 5, 6}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  net.Output(net.Node(
      "Reshape", {t, net.graph.AddConstant("s", graph::MakeInts({2}, std::vector<int64_t>{4, 30}))},
      {4, 30}));
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(Names(p), (std::vector<std::string>{"Transpose", "Conv", "LayerNormalization", "Conv",
                                                "Transpose+Reshape"}))
      << partition::Print(net.graph, p);
}

TEST(Partition, ElementwiseInFrontJoinsItsOnlyReader) {
  Net net;
  const int a = net.Input({1, 4, 5, 5});
  const int sum =
      net.Add(net.Conv(net.Input({1, 4, 5, 5}), 4, 3), net.Same("Tanh", net.Same("Exp", a)));
  net.Output(net.Node("GlobalMaxPool", {sum}, {1, 4, 1, 1}));
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(Names(p), (std::vector<std::string>{"Transpose", "Exp+Tanh+Conv+Transpose+Add",
                                                "ReduceMax", "Reshape"}))
      << partition::Print(net.graph, p);
  EXPECT_TRUE(p.kernels[3].view);
}

bool HasMax(const te::Program& program) {
  bool found = false;
  for (const te::Stage& stage : program.stages) {
    tir::Visit(stage.body, [&](const tir::Expr& e) {
      found = found || e->kind() == tir::ExprKind::kMax;
      return !found;
    });
  }
  return found;
}

TEST(Partition, ACostDecidesWhetherToFuse) {
  for (const bool fuse : {false, true}) {
    Net net;
    net.Output(net.Same("Relu", net.Conv(net.Input({1, 4, 5, 5}), 4, 3)));
    partition::PartitionOptions options;
    options.cost = [fuse](const te::Program& program) {
      return !fuse && HasMax(program) && program.stages.size() > 1 ? 10.0 : 1.0;
    };
    const Partition p = PartitionAndCheck(net, options);
    const auto expected = fuse ? std::vector<std::string>{"Transpose", "Conv+Relu", "Transpose"}
                               : std::vector<std::string>{"Transpose", "Conv", "Relu+Transpose"};
    EXPECT_EQ(Names(p), expected) << partition::Print(net.graph, p);
  }
}

TEST(Partition, InputsAndConstantsAsOutputsAreCopied) {
  Net net;
  const int x = net.Input({2, 3});
  net.Output(x);
  net.Output(net.Weight({4}));
  const int y = net.Same("Relu", x);
  net.Output(y);
  net.Output(y);
  const Partition p = PartitionAndCheck(net);
  EXPECT_EQ(p.kernels.size(), 4u);
}

TEST(Partition, AConstantThatIsTooLargeIsNamedAsSuch) {
  Net net;
  const int shape = net.graph.AddConstant(
      "shape", graph::MakeInts({2}, std::vector<int64_t>{int64_t{1} << 20, int64_t{1} << 16}));
  net.Output(net.Node("ConstantOfShape", {shape}, {int64_t{1} << 20, int64_t{1} << 16}));
  const auto p = PartitionGraph(net.graph, {});
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().message().find("[1048576,65536], is too large"), std::string::npos)
      << p.status().message();
}

TEST(Partition, UnknownOperatorsAreAllNamed) {
  Net net;
  const int x = net.Input({2, 3});
  net.Output(net.Add(net.Same("Frobnicate", x), net.Same("Twiddle", x)));
  const auto p = PartitionGraph(net.graph, {});
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().message().find("Frobnicate"), std::string::npos);
  EXPECT_NE(p.status().message().find("Twiddle"), std::string::npos);
}

std::string WhyNot(const std::string& op, const graph::ValueType& x, std::vector<int> operands,
                   Net& net, const graph::Shape& shape, graph::Attributes attributes = {}) {
  operands.insert(operands.begin(), net.graph.AddInput("x", x));
  const int y = net.Node(op, operands, shape, std::move(attributes));
  net.graph.SetType(y, graph::TensorType(*x.dtype, shape));
  net.Output(y);
  const auto p = PartitionGraph(net.graph, {});
  return p.ok() ? "" : p.status().message();
}

TEST(Partition, WindowsOverNothingAreRefused) {
  using Ints = std::vector<int64_t>;
  const auto images = [](const graph::Shape& shape) {
    return graph::TensorType(DType::kFloat32, shape);
  };
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    Net net;
    EXPECT_NE(WhyNot(op, images({1, 3, 0, 5}), {}, net, {1, 3, 2, 7},
                     {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{2, 2, 2, 2}}})
                  .find("its operand has no elements"),
              std::string::npos)
        << op;
  }
  Net net;
  const int weight = net.graph.AddConstant("w", graph::MakeTensor(DType::kFloat32, {4, 0, 3, 3}));
  EXPECT_NE(WhyNot("Conv", images({1, 0, 5, 5}), {weight}, net, {1, 4, 3, 3})
                .find("its operand has no elements"),
            std::string::npos);
}

TEST(Partition, AMeanThatItsTypeCannotCountIsRefused) {
  const graph::Attributes keep = {{"keepdims", int64_t{1}}};
  Net few, many;
  const auto axes = [](Net& net) {
    return net.graph.AddConstant("axes", graph::MakeInts({1}, std::vector<int64_t>{1}));
  };
  EXPECT_EQ(WhyNot("ReduceMean", graph::TensorType(DType::kInt8, {2, 127}), {axes(few)}, few,
                   {2, 1}, keep),
            "");
  EXPECT_NE(WhyNot("ReduceMean", graph::TensorType(DType::kInt8, {2, 256}), {axes(many)}, many,
                   {2, 1}, keep)
                .find("more elements than its type counts"),
            std::string::npos);
}

TEST(Partition, EmptyListsOfAWindowAreItsDefaults) {
  Net net;
  const std::vector<int64_t> sizes = {4, 4}, block = {2, 2};
  const int image = net.graph.AddConstant("image", graph::MakeInts({2}, sizes));
  const int of = net.graph.AddConstant("block", graph::MakeInts({2}, block));
  const std::vector<int64_t> none;
  EXPECT_EQ(WhyNot("Col2Im", graph::TensorType(DType::kFloat32, {1, 4, 9}), {image, of}, net,
                   {1, 1, 4, 4}, {{"strides", none}, {"dilations", none}, {"pads", none}}),
            "");
}

TEST(Partition, ConcatenationsOfOneAnotherAreLookedAtOnce) {
  Net net;
  int x = net.Same("Relu", net.Input({1, 1, 2, 2}));
  int64_t channels = 1;
  for (int i = 0; i < 6; ++i) {
    channels *= 32;
    x = net.Node("Concat", std::vector<int>(32, x), {1, channels, 2, 2}, {{"axis", int64_t{1}}});
  }
  net.Output(net.Node(
      "MaxPool", {x}, {1, channels, 2, 2},
      {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  EXPECT_TRUE(partition::MoveChannelsLast(net.graph, {}).ok());
  EXPECT_TRUE(PartitionGraph(net.graph, {}).ok());
}

TEST(Partition, NoHaloMakesAValueTooLarge) {
  Net net;
  const graph::Shape shape = {1, 16, 2, 2, 2};
  const int a = net.Same("Abs", net.Input(shape)), b = net.Same("Abs", net.Input(shape));
  const int both = net.Node("Concat", {a, b}, {1, 32, 2, 2, 2}, {{"axis", int64_t{1}}});
  const int weight =
      net.graph.AddConstant("w", graph::MakeTensor(DType::kFloat32, {8, 32, 1, 1, 1}));
  const int64_t far = int64_t{1} << 21;
  net.Output(net.Node(
      "Conv", {both, weight}, {1, 8, 5, 5, 5},
      {{"pads", std::vector<int64_t>(6, far)}, {"strides", std::vector<int64_t>(3, far / 2)}}));
  EXPECT_TRUE(partition::MoveChannelsLast(net.graph, {}).ok());
  const auto p = PartitionGraph(net.graph, {});
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().message().find("has more than 2^40 elements"), std::string::npos)
      << p.status().message();
}

}  // namespace
}  // namespace temper::testing
