#include "compiler/partition/inline.h"

#include <gtest/gtest.h>

#include "compiler/partition/channels_last.h"
#include "compiler/partition/halo.h"
#include "compiler/partition/partition.h"
#include "tests/compiler/partition/net.h"

namespace temper::testing {
namespace {

using tir::Expr;

// x -> chain of `length` stages, each reading the one before twice.
te::Program Doubling(int length) {
  te::Program program;
  int tensor = program.AddInput("x", DType::kFloat32, {4});
  for (int i = 0; i < length; ++i) {
    te::Stage stage;
    stage.name = "s" + std::to_string(i);
    const Expr var = program.NewVar("i");
    stage.spatial = {{var, 4}};
    const Expr v = program.Read(tensor, std::vector<Expr>{var});
    stage.body = v * (v + tir::Number(DType::kFloat32, 1));
    tensor = program.AddStage(std::move(stage));
  }
  program.outputs = {tensor};
  return program;
}

TEST(InlinePoints, AChainBecomesOneStage) {
  const te::Program merged = partition::InlinePoints(Doubling(3));
  ASSERT_TRUE(te::Verify(merged).ok()) << te::Verify(merged).ToString();
  EXPECT_EQ(merged.stages.size(), 1u);
  EXPECT_EQ(merged.tensors.size(), 2u);
  EXPECT_EQ(merged.outputs, std::vector<int>{1});
}

TEST(InlinePoints, BodiesStayBounded) {
  const te::Program merged = partition::InlinePoints(Doubling(20), 100);
  ASSERT_TRUE(te::Verify(merged).ok()) << te::Verify(merged).ToString();
  EXPECT_GT(merged.stages.size(), 3u);
  EXPECT_LT(merged.stages.size(), 20u);
  for (const te::Stage& stage : merged.stages) {
    int size = 0;
    tir::Visit(stage.body, [&](const Expr&) { return ++size < 1000; });
    EXPECT_LT(size, 500);
  }
}

TEST(InlinePoints, WhatReductionsReadAndRowsStay) {
  Net net;
  net.Output(net.Node("Softmax", {net.Input({3, 8})}, {3, 8}, {{"axis", int64_t{1}}}));
  const auto p = partition::PartitionGraph(net.graph, {});
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  // max, exp, sum, the inverse a row, the result
  EXPECT_EQ(p->kernels[0].program.stages.size(), 5u);
}

TEST(Halo, AdditionsShareOneOnBothSides) {
  Net net;
  int x = net.Conv(net.Input({1, 4, 8, 8}), 4, 1);
  const int a = net.Conv(net.Same("Relu", x), 4, 1);
  x = net.Same("Relu", net.Add(a, net.Conv(x, 4, 1)));
  net.Output(net.Conv(x, 4, 3, 2));  // reads one pixel in front and none behind
  ASSERT_TRUE(partition::MoveChannelsLast(net.graph, {}).ok());
  partition::InPlace in_place;
  const ops::Halos halos = partition::AssignHalos(net.graph, &in_place);
  const ops::Halo one{{0, 1, 1, 0}, {0, 1, 1, 0}};
  int with = 0;
  for (int id : net.graph.order()) {
    const graph::Node& node = net.graph.node(id);
    const auto found = halos.find(node.outputs[0]);
    EXPECT_TRUE(node.op != "Add" || (found != halos.end() && found->second == one));
    if (found != halos.end()) {
      EXPECT_EQ(found->second, one);
      ++with;
    }
    EXPECT_TRUE(!net.graph.IsOutput(node.outputs[0]) || found == halos.end());
  }
  EXPECT_EQ(with, 4);  // both convolutions that are added, the sum, its Relu
}

}  // namespace
}  // namespace temper::testing
