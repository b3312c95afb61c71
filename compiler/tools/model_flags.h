// Flags that several verbs share: which model, for which shapes and target.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/constants.h"
#include "base/status.h"
#include "compiler/driver/kernels.h"
#include "compiler/target/target.h"
#include "compiler/te/alternatives.h"

namespace temper::tools {

inline constexpr const char* kDefaultServer = "127.0.0.1:7400";

struct ModelFlags {
  std::string model;
  std::vector<std::string> shapes;
  std::vector<std::string> values;
  std::vector<std::string> overridable;
  bool no_overridable = false;
  std::vector<std::string> max_trips;
  int64_t unroll_nodes = importer::kUnrollNodes;
  std::string target = "native";
  int threads = 1;
  te::Numerics numerics = te::kDefaultNumerics;
  std::optional<Constants> constants;  // nothing: auto
  std::vector<std::string> disabled_passes;
  std::vector<std::string> print_after;
};

// MODEL.onnx, --shape, --value and those of loops; with the flags of the passes if `passes` is set.
void AddModelOptions(CLI::App* app, ModelFlags* flags, bool passes = false);
// --shape, --overridable and --no-overridable: what decides a model's kernels, along with --value.
void AddShapeOptions(CLI::App* app, ModelFlags* flags);
void AddTargetOption(CLI::App* app, ModelFlags* flags);
void AddThreadsOption(CLI::App* app, ModelFlags* flags);
void AddNumericsOption(CLI::App* app, ModelFlags* flags);
void AddConstantsOption(CLI::App* app, ModelFlags* flags);

// --server HOST:PORT, which must be well-formed if it is given.
CLI::Option* AddServerOption(CLI::App* app, std::string* server);

// For CLI::Option::check: a finite number from `least` (or above it, where `least_excluded`) to
// `most`. CLI::Range lets NaN pass.
CLI::Validator NumberCheck(double least, double most, bool least_excluded = false);

// The flags in the driver's terms. INVALID_ARGUMENT: wrong usage. `print_after` prints to stderr.
Result<driver::FrontendOptions> MakeFrontendOptions(const ModelFlags& flags);

}  // namespace temper::tools
