#include "tests/conformance/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "base/clock.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/type.h"
#include "compiler/tools/loaded_model.h"
#include "compiler/tools/untuned.h"
#include "deploy/runtime/temper.h"

namespace temper::conformance {
namespace {

using graph::Tensor;

// A case that the runtime or the comparison finds wrong.
Status Wrong(std::string message) { return DataLoss(std::move(message)); }

tools::Array ToArray(const Tensor& tensor) {
  const std::byte* bytes = tensor.data;
  return {tensor.dtype, tensor.shape, {bytes, bytes + tensor.bytes()}};
}

// Integers and bool exactly; floats within the tolerance, NaN equal to NaN. `truncated`: the bits
// of floats that were cut off where the operator rounds.
Status CompareValues(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                     bool truncated) {
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (!IsFloat(expected.dtype)) {
      if (actual.IntAt(i) == expected.IntAt(i)) continue;
      if (truncated && actual.IntAt(i) == expected.IntAt(i) + 1) continue;
      return Wrong(
          fmt::format("element {} is {} instead of {}", i, actual.IntAt(i), expected.IntAt(i)));
    }
    const double a = actual.DoubleAt(i), e = expected.DoubleAt(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (std::isfinite(e) &&
        std::fabs(a - e) <= tolerance.absolute + tolerance.relative * std::fabs(e)) {
      continue;
    }
    return Wrong(fmt::format("element {} is {} instead of {}", i, a, e));
  }
  return OkStatus();
}

Status Compare(const tools::Array& array, const NamedTensor& expected, const Tolerance& tolerance) {
  // ONNX's older data has bfloat16 as uint16: float32's upper bits.
  const bool bits = array.dtype == DType::kBFloat16 && expected.tensor.dtype == DType::kUInt16;
  Tensor actual;
  actual.dtype = bits ? DType::kUInt16 : array.dtype;
  actual.shape = array.shape;
  actual.data = array.data.data();
  if (actual.dtype != expected.tensor.dtype || actual.shape != expected.tensor.shape) {
    return Wrong(fmt::format("output '{}' is {}{} instead of {}{}", expected.name,
                             Name(actual.dtype), graph::ShapeToString(actual.shape),
                             Name(expected.tensor.dtype),
                             graph::ShapeToString(expected.tensor.shape)));
  }
  return CompareValues(actual, expected.tensor, tolerance, bits)
      .WithContext(fmt::format("output '{}'", expected.name));
}

// The data as the model declares the input: where ONNX's own data is a single element for a larger
// input (CastLike's second), it stands for all.
tools::Array Shaped(const Tensor& tensor, const temper_tensor_info& info) {
  tools::Array array = ToArray(tensor);
  const graph::Shape declared(info.shape, info.shape + info.ndim);
  if (tensor.size() != 1 || declared == tensor.shape) return array;
  const std::vector<std::byte> one = array.data;
  array.shape = declared;
  array.data.clear();
  for (int64_t i = 0; i < *graph::ElementCount(declared); ++i) {
    array.data.insert(array.data.end(), one.begin(), one.end());
  }
  return array;
}

// The data of each input of the compiled model.
Result<std::vector<tools::Array>> Arguments(temper_model* model, const DataSet& set) {
  std::vector<tools::Array> arguments;
  for (int i = 0; i < temper_input_count(model); ++i) {
    const temper_tensor_info* info = temper_input(model, i);
    const auto at =
        std::find_if(set.inputs.begin(), set.inputs.end(),
                     [&](const NamedTensor& input) { return input.name == info->name; });
    if (at == set.inputs.end()) return Wrong(fmt::format("input '{}' has no data", info->name));
    arguments.push_back(Shaped(at->tensor, *info));
  }
  return arguments;
}

Status RunSet(temper_model* model, const DataSet& set, const Tolerance& tolerance) {
  TEMPER_ASSIGN_OR_RETURN(const std::vector<tools::Array> arguments, Arguments(model, set));
  auto runner = tools::Runner::Create(model, &arguments);
  if (!runner.ok()) return Wrong(runner.status().message());
  Status ran = runner->Run();
  if (!ran.ok()) return Wrong(ran.message());
  if (runner->outputs().size() < set.outputs.size()) {
    return Wrong(fmt::format("it has {} outputs instead of {}", runner->outputs().size(),
                             set.outputs.size()));
  }
  for (size_t i = 0; i < set.outputs.size(); ++i) {
    TEMPER_RETURN_IF_ERROR(Compare(runner->outputs()[i], set.outputs[i], tolerance));
  }
  return OkStatus();
}

bool Mentions(const Status& status, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return status.message().find(part) != std::string::npos;
  });
}

// Compiles for a set of data as a user would: as the model is; where it leaves shapes open, with
// those of the data; where it computes shapes from inputs, with these fixed at their values, first
// short lists of integers, then any short list. `fixed` says which are fixed.
Status CompileFor(const Case& test, const DataSet& set, const std::string& output,
                  std::string* fixed) {
  driver::CompileOptions options;
  options.target = *ParseTarget("native");
  options.producer = "conformance";
  const SystemClock clock;
  const auto compile = [&] {
    return driver::Compile(test.model, output, options, nullptr, tools::UntunedChooser(), clock)
        .status();
  };
  Status status = compile();
  if (Mentions(status, {"--shape"})) {
    options.frontend.shapes.resize(1);
    for (const NamedTensor& input : set.inputs) {
      options.frontend.shapes[0].emplace(input.name, input.tensor.shape);
    }
    status = compile();
  }
  for (const bool any_type : {false, true}) {
    if (!Mentions(status,
                  {"when the model runs", "the model runs;", "at run time", "before the run"}))
      break;
    for (const NamedTensor& input : set.inputs) {
      if (input.tensor.shape.size() > 1 || (IsFloat(input.tensor.dtype) && !any_type)) continue;
      if (!options.frontend.values.emplace(input.name, input.tensor).second) continue;
      for (driver::InputShapes& shapes : options.frontend.shapes) shapes.erase(input.name);
      *fixed += (fixed->empty() ? "" : ", ") + input.name;
    }
    const Status again = compile();
    if (again.ok() || any_type) status = again;
  }
  return status;
}

Status Run(const Case& test, const std::string& temp_folder, std::string* fixed) {
  auto sets = ReadDataSets(test);
  if (!sets.ok()) {
    // A case whose data is no tensor can still show that the model is refused.
    TEMPER_RETURN_IF_ERROR(CompileFor(test, {}, temp_folder + "/model.so", fixed));
    return Wrong("it compiles, but " + sets.status().message());
  }
  for (size_t k = 0; k < sets->size(); ++k) {
    const std::string output = fmt::format("{}/model{}.so", temp_folder, k);
    fixed->clear();
    TEMPER_RETURN_IF_ERROR(CompileFor(test, (*sets)[k], output, fixed));
    auto model = tools::OpenModel(output, 1);
    if (!model.ok()) return Wrong(model.status().message());
    TEMPER_RETURN_IF_ERROR(RunSet(model->get(), (*sets)[k], test.tolerance));
  }
  return OkStatus();
}

}  // namespace

Outcome RunCase(const Case& test, const std::string& temp_folder) {
  std::string fixed;
  const Status status = Run(test, temp_folder, &fixed);
  if (status.ok()) return {Verdict::kPass, fixed};
  // Messages start with the model's path, which differs from machine to machine.
  std::string message = status.message();
  const std::string path = test.model + ": ";
  if (message.starts_with(path)) message = message.substr(path.size());
  switch (status.code()) {
    case Code::kDataLoss:
      return {Verdict::kWrong, message};
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
    case Code::kFailedPrecondition:
    case Code::kResourceExhausted:
    case Code::kOutOfRange:
      return {Verdict::kRefused, message};
    default:
      return {Verdict::kFault, status.ToString()};
  }
}

}  // namespace temper::conformance
