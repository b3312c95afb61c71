#include "compiler/partition/layout.h"

#include <gtest/gtest.h>

#include "tests/compiler/partition/net.h"

namespace temper::testing {
namespace {

// Operators of the nodes that stay, in order.
std::vector<std::string> Stay(const Net& net) {
  const std::set<int> first = partition::NodesChannelsFirst(net.graph);
  std::vector<std::string> names;
  for (int id : net.graph.order()) {
    if (first.count(id)) names.push_back(net.graph.node(id).op);
  }
  return names;
}

int Depthwise(Net& net, int x, int64_t k, int64_t stride = 1) {
  const int64_t channels = net.graph.shape(x)[1];
  return net.Conv(x, channels, k, stride, channels);
}

TEST(Layout, OperatorsOnPlanesStayBetweenTheCallersTensors) {
  Net net;
  net.Output(net.Same("Relu", Depthwise(net, net.Same("Relu", net.Input({1, 32, 56, 56})), 3)));
  EXPECT_EQ(Stay(net), (std::vector<std::string>{"Relu", "Conv", "Relu"}));
}

// 7x7 pixels by windows of 11x11: the waste is more than what two changes cost.
TEST(Layout, ShortRowsUnderLargeWindowsAreWorthAChange) {
  Net net;
  net.Output(Depthwise(net, net.Input({1, 256, 7, 7}), 11));
  EXPECT_EQ(Stay(net), std::vector<std::string>{});
}

TEST(Layout, BehindAnImageEverythingIsChannelsLast) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 3, 64, 64}), 32, 3, 2));
  for (int i = 0; i < 2; ++i) {
    const int wide = net.Same("Relu", net.Conv(x, 96, 1));
    x = net.Add(x, net.Conv(net.Same("Relu", Depthwise(net, wide, 3)), 32, 1));
  }
  x = net.Node("GlobalAveragePool", {x}, {1, 32, 1, 1});
  net.Output(net.Node("Flatten", {x}, {1, 32}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(Stay(net), std::vector<std::string>{});
}

// Each shuffle would change the layout twice.
TEST(Layout, ShufflesKeepTheirNeighboursChannelsFirst) {
  Net net;
  int x = net.Same("Relu", net.Conv(net.Input({1, 16, 64, 64}), 48, 3, 2));
  for (int i = 0; i < 4; ++i) {
    x = net.Conv(x, 48, 1, 1, 4);
    const auto shape = [&](std::vector<int64_t> to) {
      return net.graph.AddConstant("shape", graph::MakeInts({static_cast<int64_t>(to.size())}, to));
    };
    x = net.Node("Reshape", {x, shape({1, 4, 12, 32, 32})}, {1, 4, 12, 32, 32});
    x = net.Node("Transpose", {x}, {1, 12, 4, 32, 32},
                 {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
    x = net.Node("Reshape", {x, shape({1, 48, 32, 32})}, {1, 48, 32, 32});
    x = Depthwise(net, x, 3);
  }
  net.Output(x);
  EXPECT_EQ(Stay(net), (std::vector<std::string>{"Conv", "Conv", "Conv", "Conv", "Conv", "Conv",
                                                 "Conv", "Conv"}));
}

// Between two of them a node is channels-last already.
TEST(Layout, ATransposeOfTheModelCountsAsAChange) {
  Net net;
  const int image = net.Input({1, 56, 56, 32});
  const int x =
      net.Node("Transpose", {image}, {1, 32, 56, 56}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  net.Output(net.Node("Transpose", {Depthwise(net, x, 3)}, {1, 56, 56, 32},
                      {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}));
  EXPECT_EQ(Stay(net), std::vector<std::string>{});
}

}  // namespace
}  // namespace temper::testing
