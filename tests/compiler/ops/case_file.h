// Single-operator cases with the results that ONNX Runtime gives (cases.json, make_cases.py).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tests/compiler/ops/run_kernels.h"

namespace temper::testing {

struct OpCase {
  std::string name;
  graph::Graph graph;           // one node
  std::map<int, Bytes> inputs;  // by graph value
  // By output of the graph.
  std::vector<std::vector<double>> expected;
};

std::vector<OpCase> LoadOpCases(const std::string& path);

// Elements as doubles.
std::vector<double> ToDoubles(DType dtype, const Bytes& bytes);

// "" if every element is within `tolerance` times max(1, |expected|), NaN and infinities exactly;
// else the first that is not.
std::string Difference(const std::vector<double>& got, const std::vector<double>& expected,
                       double tolerance);

}  // namespace temper::testing
