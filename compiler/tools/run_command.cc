// temper run: one run of a compiled model on arrays from files.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "base/text.h"
#include "compiler/graph/type.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/loaded_model.h"
#include "compiler/tools/model_flags.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper run model.so --input x=@x.npy --expect y=@y.npy
  temper run model.so --input x=@x.npy --output-dir out    # writes out/y.npy
An output is as expected where no element differs by more than the tolerance times the expected
output's standard deviation.)";

// Behind the message of an input that the model does not have.
constexpr std::string_view kNoDefaults =
    ". To give an initializer of the source model, compile it with --overridable NAME, or, from IR "
    "version 4 on, without --no-overridable";

struct RunFlags {
  std::string model;
  std::vector<std::string> inputs, expected;
  std::string output_dir;
  double tolerance = 1e-3;
  int threads = 0;
};

// "name=@path" -> path by name.
Result<std::map<std::string, std::string>> ParseFiles(const std::vector<std::string>& flags) {
  std::map<std::string, std::string> files;
  for (const std::string& flag : flags) {
    const size_t at = flag.rfind("=@");
    if (at == std::string::npos || at == 0 || at + 2 == flag.size()) {
      return InvalidArgument("expected NAME=@FILE.npy, not " + Quoted(flag));
    }
    if (!files.emplace(flag.substr(0, at), flag.substr(at + 2)).second) {
      return InvalidArgument("two files are given for " + Quoted(flag.substr(0, at)));
    }
  }
  return files;
}

using Infos = std::vector<const temper_tensor_info*>;

Infos InputsOf(const temper_model* model) {
  Infos infos;
  for (int i = 0; i < temper_input_count(model); ++i) infos.push_back(temper_input(model, i));
  for (int i = 0; i < temper_optional_count(model); ++i) {
    infos.push_back(temper_optional(model, i));
  }
  return infos;
}

Infos OutputsOf(const temper_model* model) {
  Infos infos;
  for (int i = 0; i < temper_output_count(model); ++i) infos.push_back(temper_output(model, i));
  return infos;
}

Status CheckNames(const std::map<std::string, std::string>& files, const Infos& infos,
                  std::string_view what, std::string_view hint = "") {
  for (const auto& [name, path] : files) {
    std::string known;
    bool found = false;
    for (const temper_tensor_info* info : infos) {
      found |= name == info->name;
      known += (known.empty() ? "" : ", ") + Describe(*info);
    }
    if (!found) {
      return InvalidArgument(
          fmt::format("the model has no {} {}. It has: {}{}", what, Quoted(name), known, hint));
    }
  }
  return OkStatus();
}

Result<Array> ReadInput(const temper_tensor_info& info, const std::string& file) {
  TEMPER_ASSIGN_OR_RETURN(const DType dtype, TypeOf(info));
  TEMPER_ASSIGN_OR_RETURN(Array array, ReadNpy(file, dtype));
  // Where several sizes are possible, the runtime says which.
  bool fits = array.dtype == dtype && static_cast<int>(array.shape.size()) == info.ndim;
  for (int d = 0; fits && d < info.ndim; ++d) {
    fits = info.shape[d] < 0 || info.shape[d] == array.shape[d];
  }
  if (fits) return array;
  return InvalidArgument(fmt::format("{} holds {}{}; the model takes {}", file, Name(array.dtype),
                                     graph::ShapeToString(array.shape), Describe(info)));
}

struct Inputs {
  std::vector<Array> required;
  std::map<int, Array> optional;  // those that are given
};

Result<Inputs> ReadInputs(const temper_model* model,
                          const std::map<std::string, std::string>& files) {
  Inputs inputs;
  for (int i = 0; i < temper_input_count(model); ++i) {
    const temper_tensor_info& info = *temper_input(model, i);
    auto file = files.find(info.name);
    if (file == files.end()) {
      return InvalidArgument(
          fmt::format("input {} is missing. Give --input {}=@FILE.npy", Describe(info), info.name));
    }
    TEMPER_ASSIGN_OR_RETURN(Array array, ReadInput(info, file->second));
    inputs.required.push_back(std::move(array));
  }
  for (int i = 0; i < temper_optional_count(model); ++i) {
    const temper_tensor_info& info = *temper_optional(model, i);
    auto file = files.find(info.name);
    if (file == files.end()) continue;
    TEMPER_ASSIGN_OR_RETURN(inputs.optional[i], ReadInput(info, file->second));
  }
  return inputs;
}

struct Comparison {
  double worst = 0;  // largest difference in standard deviations
  int64_t where = -1;
};

Comparison Compare(const Array& expected, const Array& actual) {
  const int64_t count = expected.size();
  double mean = 0, square = 0, largest = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double v = ElementAsDouble(expected, i);
    if (!std::isfinite(v)) continue;
    ++finite;
    const double delta = v - mean;
    mean += delta / static_cast<double>(finite);
    square += delta * (v - mean);
    largest = std::max(largest, std::abs(v));
  }
  double scale = finite ? std::sqrt(square / static_cast<double>(finite)) : 0;
  if (scale == 0) scale = largest > 0 ? largest : 1;
  Comparison result;
  for (int64_t i = 0; i < count; ++i) {
    const double x = ElementAsDouble(expected, i), y = ElementAsDouble(actual, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double difference = std::abs(x - y) / scale;
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > result.worst) result = {difference, i};
  }
  return result;
}

// Whether all outputs are as expected; says so of each.
Result<bool> CheckOutputs(const temper_model* model, const std::vector<Array>& outputs,
                          const std::map<std::string, std::string>& files, double tolerance) {
  bool all = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const temper_tensor_info& info = *temper_output(model, static_cast<int>(i));
    auto file = files.find(info.name);
    if (file == files.end()) continue;
    TEMPER_ASSIGN_OR_RETURN(Array expected, ReadNpy(file->second, outputs[i].dtype));
    if (expected.dtype != outputs[i].dtype || expected.shape != outputs[i].shape) {
      Print(fmt::format("{}: {}{}, but {}{} was expected\n", info.name, Name(outputs[i].dtype),
                        graph::ShapeToString(outputs[i].shape), Name(expected.dtype),
                        graph::ShapeToString(expected.shape)));
      all = false;
      continue;
    }
    const Comparison c = Compare(expected, outputs[i]);
    const bool right = c.worst <= tolerance;
    all &= right;
    Print(fmt::format("{}: {}, largest difference {:.3g} deviations{}\n", info.name,
                      right ? "as expected" : "WRONG", c.worst,
                      right ? "" : fmt::format(" at element {}", c.where)));
  }
  return all;
}

Status WriteOutputs(const temper_model* model, const std::vector<Array>& outputs,
                    const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidArgument("cannot make the folder " + folder + ": " + error.message());
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = temper_output(model, static_cast<int>(i))->name;
    for (char& c : name) {
      if (c == '/' || c == '\0') c = '_';
    }
    if (name.empty() || name[0] == '.') name = "_" + name;
    const std::string path = folder + "/" + name + ".npy";
    TEMPER_RETURN_IF_ERROR(WriteNpy(path, outputs[i]));
    Print(path + "\n");
  }
  return OkStatus();
}

void DescribeOutputs(const temper_model* model, const std::vector<Array>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string values;
    const int64_t shown = std::min<int64_t>(outputs[i].size(), 8);
    for (int64_t k = 0; k < shown; ++k) {
      values += fmt::format(" {:.6g}", ElementAsDouble(outputs[i], k));
    }
    Print(fmt::format("{} {}{}:{}{}\n", temper_output(model, static_cast<int>(i))->name,
                      Name(outputs[i].dtype), graph::ShapeToString(outputs[i].shape), values,
                      shown < outputs[i].size() ? " ..." : ""));
  }
}

int Run(const RunFlags& flags) {
  auto inputs = ParseFiles(flags.inputs);
  if (!inputs.ok()) return FailUsage("run", "--input: " + inputs.status().message());
  auto expected = ParseFiles(flags.expected);
  if (!expected.ok()) return FailUsage("run", "--expect: " + expected.status().message());
  auto model = OpenModel(flags.model, flags.threads);
  if (!model.ok()) return Fail(model.status());
  temper_model* m = model->get();
  const std::string_view hint = temper_optional_count(m) == 0 ? kNoDefaults : "";
  Status names = CheckNames(*inputs, InputsOf(m), "input", hint);
  if (names.ok()) names = CheckNames(*expected, OutputsOf(m), "output");
  if (!names.ok()) return Fail(names);
  auto arrays = ReadInputs(m, *inputs);
  if (!arrays.ok()) return Fail(arrays.status());
  auto runner = Runner::Create(m, &arrays->required, &arrays->optional);
  if (!runner.ok()) return Fail(runner.status());
  if (Status run = runner->Run(); !run.ok()) return Fail(run);
  if (!flags.output_dir.empty()) {
    if (Status s = WriteOutputs(m, runner->outputs(), flags.output_dir); !s.ok()) return Fail(s);
  } else if (expected->empty()) {
    DescribeOutputs(m, runner->outputs());
  }
  auto right = CheckOutputs(m, runner->outputs(), *expected, flags.tolerance);
  if (!right.ok()) return Fail(right.status());
  const int flushed = Flush();
  return *right ? flushed : kExitFailure;
}

}  // namespace

Command AddRunCommand(CLI::App& root) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* app = root.add_subcommand("run", "Run a compiled model once on arrays from .npy files");
  app->footer(std::string(kExample));
  app->add_option("model", flags->model, "Compiled model (.so)")->required();
  app->add_option("--input", flags->inputs, "NAME=@FILE.npy, once an input");
  app->add_option("--expect", flags->expected, "NAME=@FILE.npy: compare an output with it");
  app->add_option("--tolerance", flags->tolerance, "Allowed difference in standard deviations")
      ->check(NumberCheck(0, 1e30))
      ->capture_default_str();
  app->add_option("--output-dir", flags->output_dir, "Write each output to a file NAME.npy there");
  app->add_option("--threads", flags->threads, "Threads; 0: those it was compiled for")
      ->check(CLI::Range(0, 256));
  return {app, [flags] { return Run(*flags); }};
}

}  // namespace temper::tools
