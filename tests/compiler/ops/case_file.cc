#include "tests/compiler/ops/case_file.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace temper::testing {
namespace {

using nlohmann::json;

// As fill() of make_cases.py.
std::vector<double> Fill(int64_t count, DType dtype, uint64_t seed, double low, double high) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t h = (static_cast<uint64_t>(i) * 2654435761u + seed * 40503u + 12345u) & 0xFFFFFFFFu;
    h ^= h >> 15;
    h = (h * 2246822519u) & 0xFFFFFFFFu;
    h ^= h >> 13;
    const double value = low + static_cast<double>(h >> 8) / 16777216.0 * (high - low);
    values.push_back(IsFloat(dtype) ? value : std::floor(value));
  }
  return values;
}

std::vector<double> Numbers(const json& data) {
  std::vector<double> values;
  for (const json& v : data) {
    values.push_back(v.is_string() ? std::stod(v.get<std::string>()) : v.get<double>());
  }
  return values;
}

graph::Tensor Operand(const json& j) {
  const DType dtype = *ParseDType(j["dtype"].get<std::string>());
  const auto shape = j["shape"].get<graph::Shape>();
  const std::vector<double> values =
      j.contains("data") ? Numbers(j["data"])
                         : Fill(*graph::ElementCount(shape), dtype, j["seed"].get<uint64_t>(),
                                j["low"].get<double>(), j["high"].get<double>());
  return graph::MakeFromDoubles(dtype, shape, values);
}

graph::Attribute ToAttribute(const json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_number_float()) return j.get<float>();
  return j.get<std::vector<int64_t>>();
}

}  // namespace

std::vector<OpCase> LoadOpCases(const std::string& path) {
  std::ifstream file(path);
  std::vector<OpCase> cases;
  for (const json& j : json::parse(file)) {
    OpCase c;
    c.name = j["name"];
    std::vector<int> inputs;
    for (const json& operand : j["inputs"]) {
      if (operand.is_null()) {
        inputs.push_back(graph::kNone);
        continue;
      }
      const graph::Tensor tensor = Operand(operand);
      const std::string name = "x" + std::to_string(inputs.size());
      if (operand["constant"].get<bool>()) {
        inputs.push_back(c.graph.AddConstant(name, tensor));
      } else {
        const int value = c.graph.AddInput(name, graph::TensorType(tensor.dtype, tensor.shape));
        c.inputs[value] = Bytes(tensor.raw().begin(), tensor.raw().end());
        inputs.push_back(value);
      }
    }
    graph::Attributes attributes;
    for (const auto& [key, value] : j["attributes"].items()) attributes[key] = ToAttribute(value);
    std::vector<std::string> names;
    for (size_t i = 0; i < j["outputs"].size(); ++i) names.push_back("y" + std::to_string(i));
    const int node = c.graph.AddNode(j["op"], inputs, names, attributes, {c.name});
    for (size_t i = 0; i < names.size(); ++i) {
      const json& output = j["outputs"][i];
      const int value = c.graph.node(node).outputs[i];
      c.graph.SetType(value, graph::TensorType(*ParseDType(output["dtype"].get<std::string>()),
                                               output["shape"].get<graph::Shape>()));
      c.graph.AddOutput(value, names[i]);
      c.expected.push_back(Numbers(output["data"]));
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<double> ToDoubles(DType dtype, const Bytes& bytes) {
  graph::Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {static_cast<int64_t>(bytes.size()) / ByteSize(dtype)};
  tensor.data = bytes.data();
  return tensor.AsDoubles();
}

std::string Difference(const std::vector<double>& got, const std::vector<double>& expected,
                       double tolerance) {
  if (got.size() != expected.size()) return "another number of elements";
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = expected[i];
    const bool same = std::isnan(b)   ? std::isnan(a)
                      : std::isinf(b) ? a == b
                                      : std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", not " +
             std::to_string(b);
    }
  }
  return "";
}

}  // namespace temper::testing
