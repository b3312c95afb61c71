#include "tests/compiler/partition/net.h"

#include <cmath>

namespace temper::testing {

graph::Tensor Net::Random(const graph::Shape& shape, double scale) {
  std::vector<double> values(*graph::ElementCount(shape));
  for (double& v : values) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    v = (static_cast<double>(state_ >> 40) / (1 << 24) * 2 - 1) * scale;
  }
  return graph::MakeFromDoubles(DType::kFloat32, shape, values);
}

int Net::Input(const graph::Shape& shape) {
  const int value = graph.AddInput("x" + std::to_string(inputs.size()),
                                   graph::TensorType(DType::kFloat32, shape));
  const graph::Tensor tensor = Random(shape, 2);
  inputs[value] = Bytes(tensor.raw().begin(), tensor.raw().end());
  return value;
}

int Net::Weight(const graph::Shape& shape) {
  double fan_in = 1;
  for (size_t d = 1; d < shape.size(); ++d) fan_in *= static_cast<double>(shape[d]);
  return graph.AddConstant("w" + std::to_string(graph.value_count()),
                           Random(shape, std::sqrt(3 / fan_in)));
}

int Net::Node(const std::string& op, std::vector<int> operands, const graph::Shape& shape,
              graph::Attributes attributes) {
  const std::string name = op + std::to_string(graph.node_limit());
  const int id = graph.AddNode(op, std::move(operands), {name}, std::move(attributes), {name});
  const int value = graph.node(id).outputs[0];
  graph.SetType(value, graph::TensorType(DType::kFloat32, shape));
  return value;
}

int Net::Conv(int x, int64_t n, int64_t k, int64_t stride, int64_t group) {
  const graph::Shape in = graph.shape(x);
  const int64_t p = k / 2;
  auto extent = [&](int64_t e) { return (e + 2 * p - k) / stride + 1; };
  return Node("Conv", {x, Weight({n, in[1] / group, k, k}), Weight({n})},
              {in[0], n, extent(in[2]), extent(in[3])},
              {{"kernel_shape", std::vector<int64_t>{k, k}},
               {"strides", std::vector<int64_t>{stride, stride}},
               {"dilations", std::vector<int64_t>{1, 1}},
               {"pads", std::vector<int64_t>{p, p, p, p}},
               {"group", group}});
}

}  // namespace temper::testing
