#include "tests/conformance/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/import/tensor_reader.h"

namespace temper::conformance {
namespace {

namespace fs = std::filesystem;

void CollectOperators(const onnx::GraphProto& graph, std::set<std::string>& all) {
  for (const onnx::NodeProto& node : graph.node()) {
    const bool own = node.domain().empty() || node.domain() == "ai.onnx";
    all.insert(own ? node.op_type() : node.domain() + "." + node.op_type());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectOperators(attribute.g(), all);
    }
  }
}

onnx::ModelProto ParseModel(const std::string& path) {
  auto bytes = ReadFile(path);
  onnx::ModelProto model;
  if (!bytes.ok() || !model.ParseFromString(*bytes)) model.Clear();
  return model;
}

void ReadModel(Case& test) {
  const onnx::ModelProto model = ParseModel(test.model);
  std::set<std::string> all;
  CollectOperators(model.graph(), all);
  test.operators.assign(all.begin(), all.end());
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    initialized.insert(tensor.name());
  }
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (initialized.count(input.name()) == 0) test.inputs.push_back(input.name());
  }
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "Constant" && model.graph().node_size() > 1) continue;
    test.op = node.op_type();
    break;
  }
}

// Our own cases state their tolerances.
void ReadTolerance(const std::string& path, Case& test) {
  auto text = ReadFile(path);
  if (!text.ok()) return;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return;
  test.tolerance.relative = json.value("rtol", test.tolerance.relative);
  test.tolerance.absolute = json.value("atol", test.tolerance.absolute);
}

Result<NamedTensor> ReadTensor(const std::string& path) {
  TEMPER_ASSIGN_OR_RETURN(auto bytes, ReadFile(path));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(bytes) || proto.data_type() == 0) {
    return Unimplemented(path + " holds no tensor");
  }
  auto raw = std::make_shared<const std::string>(proto.raw_data());
  if (proto.has_raw_data()) {
    proto.set_raw_offset(0);
    proto.set_raw_length(raw->size());
  }
  importer::TensorReader reader(std::as_bytes(std::span(*raw)), raw, std::nullopt);
  auto tensor = reader.Read(proto);
  if (!tensor.ok()) return tensor.status().WithContext(path);
  return NamedTensor{proto.name(), *std::move(tensor)};
}

// The tensors of `start`_0.pb, `start`_1.pb and so on.
Result<std::vector<NamedTensor>> ReadTensors(const std::string& start) {
  std::vector<NamedTensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = fmt::format("{}_{}.pb", start, i);
    if (!fs::exists(path)) return tensors;
    TEMPER_ASSIGN_OR_RETURN(NamedTensor tensor, ReadTensor(path));
    tensors.push_back(std::move(tensor));
  }
}

// What ONNX's runner gives the light models: 0, 1/n, 2/n, ... for n elements, in double.
Result<DataSet> ReadLightSet(const Case& test) {
  DataSet set;
  const onnx::ModelProto model = ParseModel(test.model);
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (std::count(test.inputs.begin(), test.inputs.end(), input.name()) == 0) continue;
    graph::Shape shape;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
    }
    const std::optional<int64_t> count = graph::ElementCount(shape);
    if (!count || input.type().tensor_type().elem_type() != 1) {
      return Unimplemented(test.model + ": its input is no tensor of float32");
    }
    std::vector<double> values;
    for (int64_t i = 0; i < *count; ++i) {
      values.push_back(static_cast<double>(i) / static_cast<double>(*count));
    }
    set.inputs.push_back({input.name(), graph::MakeFromDoubles(DType::kFloat32, shape, values)});
  }
  TEMPER_ASSIGN_OR_RETURN(
      set.outputs, ReadTensors(fs::path(test.model).replace_extension().string() + "_output"));
  if (set.outputs.empty()) return NotFound(test.model + " has no outputs beside it");
  return set;
}

}  // namespace

Result<std::vector<Case>> FindLightCases(const std::string& folder) {
  std::vector<Case> cases;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with("light_") || !file.ends_with(".onnx")) continue;
    Case test;
    test.name = "light/" + file.substr(6, file.size() - 11);
    test.model = entry.path();
    // As ONNX's runner has it.
    test.tolerance.relative = test.name == "light/densenet121" ? 2e-3 : 1e-3;
    ReadModel(test);
    cases.push_back(std::move(test));
  }
  if (cases.empty()) return NotFound("no light models in " + folder + "; run ./setup");
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Result<std::vector<Case>> FindCases(const std::string& root, const std::string& group) {
  std::vector<Case> cases;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/" + group, error)) {
    const std::string folder = entry.path();
    if (!fs::exists(folder + "/model.onnx")) continue;
    Case test;
    test.name = group + "/" + entry.path().filename().string();
    test.folder = folder;
    test.model = folder + "/model.onnx";
    ReadModel(test);
    ReadTolerance(folder + "/case.json", test);
    cases.push_back(std::move(test));
  }
  if (cases.empty()) return NotFound("no cases in " + root + "/" + group + "; run ./setup");
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Result<std::vector<DataSet>> ReadDataSets(const Case& test) {
  std::vector<DataSet> sets;
  if (test.folder.empty()) {
    TEMPER_ASSIGN_OR_RETURN(DataSet set, ReadLightSet(test));
    sets.push_back(std::move(set));
    return sets;
  }
  for (int k = 0;; ++k) {
    const std::string folder = fmt::format("{}/test_data_set_{}", test.folder, k);
    if (!fs::exists(folder)) break;
    DataSet set;
    TEMPER_ASSIGN_OR_RETURN(set.inputs, ReadTensors(folder + "/input"));
    for (size_t i = 0; i < set.inputs.size() && i < test.inputs.size(); ++i) {
      std::string& name = set.inputs[i].name;
      if (std::count(test.inputs.begin(), test.inputs.end(), name) == 0) name = test.inputs[i];
    }
    TEMPER_ASSIGN_OR_RETURN(set.outputs, ReadTensors(folder + "/output"));
    sets.push_back(std::move(set));
  }
  if (sets.empty()) return NotFound(test.folder + " has no data");
  return sets;
}

}  // namespace temper::conformance
