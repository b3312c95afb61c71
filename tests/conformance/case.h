// The cases on disk. Most are in the layout of ONNX's backend tests: a folder with model.onnx and
// test_data_set_K/{input,output}_I.pb. The light models of the PyPI package `onnx` are files beside
// each other: light_NAME.onnx and light_NAME_output_I.pb, for inputs that count up from 0 to 1.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/tensor.h"

namespace temper::conformance {

struct Tolerance {
  double relative = 1e-3;  // ONNX's own defaults
  double absolute = 1e-7;
};

struct Case {
  std::string name;    // "node/test_abs": the folder's group and name
  std::string model;   // its file
  std::string folder;  // where its data sets lie; "" for a light model
  // The operator that the case is about: that of its first node that is no Constant. "" where the
  // model cannot be read.
  std::string op;
  std::vector<std::string> operators;  // all, sorted, with their domains unless ONNX's
  std::vector<std::string> inputs;     // of the model, initializers aside
  Tolerance tolerance;
};

// The cases below `root`/`group`, by name. `group` also starts their names.
Result<std::vector<Case>> FindCases(const std::string& root, const std::string& group);

// The light models in `folder`, as "light/NAME".
Result<std::vector<Case>> FindLightCases(const std::string& folder);

// UNIMPLEMENTED if a file holds no tensor of a type that graphs have. Inputs have the names of the
// model's: their own, or that of the same place where they have none.
struct NamedTensor {
  std::string name;
  graph::Tensor tensor;
};
struct DataSet {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};
Result<std::vector<DataSet>> ReadDataSets(const Case& test);

}  // namespace temper::conformance
