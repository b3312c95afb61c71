// A result computed in another shape of the same memory, with the elementwise operators behind it.
// Internal to split_transposed.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace temper::partition {

// Another shape for a value, whose elements keep their order.
struct View {
  graph::Shape to;
  // What broadcasts to `to` as the tensor does to the old shape, if that can be said.
  std::function<std::optional<graph::Tensor>(const graph::Tensor&)> constant;
};

// A node of one result in front of `before`, with its sources and named after its result.
int InsertResult(graph::Graph& graph, const graph::Node& before, const std::string& op,
                 std::vector<int> inputs, graph::Attributes attributes, const graph::Shape& shape,
                 const std::string& domain = "");

// Whether the convolution's weight, and its bias where it has one, are constants.
bool HasConstantWeights(const graph::Graph& graph, const graph::Node& convolution);

// `value` has the view's shape and takes the place of the convolution `node` without its bias
// (input 2): that, and then all elementwise operators which alone read the result, come before the
// Reshape to the old shape. `uncut`, if not empty, is the shape that the view is of, in no
// dimension smaller than the old one: what lies beyond is cut off.
void ReplaceByView(graph::Graph& graph, const graph::Node& node, int value, const View& view,
                   const graph::Shape& uncut = {});

}  // namespace temper::partition
