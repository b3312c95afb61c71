// Small networks, built by hand, with seeded weights.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tests/compiler/ops/run_kernels.h"

namespace temper::testing {

class Net {
 public:
  graph::Graph graph;
  std::map<int, Bytes> inputs;

  int Input(const graph::Shape& shape);
  int Weight(const graph::Shape& shape);
  // One output of `shape`; the node is named after its operator and number.
  int Node(const std::string& op, std::vector<int> operands, const graph::Shape& shape,
           graph::Attributes attributes = {});
  // float32[1, c, h, w] -> [1, n, ceil(h / stride), ceil(w / stride)], padded by k / 2.
  int Conv(int x, int64_t n, int64_t k, int64_t stride = 1, int64_t group = 1);
  int Same(const std::string& op, int x) { return Node(op, {x}, graph.shape(x)); }
  int Add(int a, int b) { return Node("Add", {a, b}, graph.shape(a)); }
  void Output(int value) { graph.AddOutput(value, graph.value(value).name); }

 private:
  graph::Tensor Random(const graph::Shape& shape, double scale);
  uint64_t state_ = 1;
};

}  // namespace temper::testing
