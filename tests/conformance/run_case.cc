#include "tests/conformance/run_case.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

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

// Integers and bool exactly; floats within the tolerance, NaN equal to NaN.
Status CompareValues(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (!IsFloat(expected.dtype)) {
      if (actual.IntAt(i) == expected.IntAt(i)) continue;
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
  // ONNX's older data has the bits of bfloat16 as uint16.
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
  return CompareValues(actual, expected.tensor, tolerance)
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

// The data of each input of the model. Files are in the order of the model's inputs; those for
// initializers, which the compiled model has in itself, are passed over by their name.
Result<std::vector<tools::Array>> Arguments(temper_model* model, const DataSet& set) {
  std::vector<tools::Array> arguments;
  const int count = temper_input_count(model);
  size_t next = 0;
  for (int i = 0; i < count; ++i) {
    const temper_tensor_info* info = temper_input(model, i);
    size_t at = next;
    for (size_t f = 0; f < set.inputs.size(); ++f) {
      if (set.inputs[f].name == info->name) at = f;
    }
    if (at >= set.inputs.size()) return Wrong(fmt::format("input '{}' has no data", info->name));
    next = at + 1;
    arguments.push_back(Shaped(set.inputs[at].tensor, *info));
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

// Shapes that the model leaves open are those of the data: at first none is given, as a user would
// try, then all.
Result<driver::CompileReport> CompileFor(const Case& test, const DataSet& set,
                                         const std::string& output) {
  driver::CompileOptions options;
  options.target = *ParseTarget("native");
  options.producer = "conformance";
  const SystemClock clock;
  auto report = driver::Compile(test.folder + "/model.onnx", output, options, nullptr,
                                tools::UntunedChooser(), clock);
  if (report.ok() || report.status().message().find("--shape") == std::string::npos) return report;
  for (const NamedTensor& input : set.inputs) {
    options.frontend.shapes.emplace(input.name, input.tensor.shape);
  }
  auto again = driver::Compile(test.folder + "/model.onnx", output, options, nullptr,
                               tools::UntunedChooser(), clock);
  return again;
}

Status Run(const Case& test, const std::string& temp_folder) {
  auto sets = ReadDataSets(test);
  // A case whose data is no tensor can still show that the model is refused.
  const DataSet none;
  const std::string output = temp_folder + "/model.so";
  auto report = CompileFor(test, sets.ok() ? sets->front() : none, output);
  if (!report.ok()) return report.status();
  if (!sets.ok()) return Wrong("it compiles, but " + sets.status().message());
  auto model = tools::OpenModel(output, 1);
  if (!model.ok()) return Wrong(model.status().message());
  for (const DataSet& set : *sets) {
    TEMPER_RETURN_IF_ERROR(RunSet(model->get(), set, test.tolerance));
  }
  return OkStatus();
}

}  // namespace

Outcome RunCase(const Case& test, const std::string& temp_folder) {
  const Status status = Run(test, temp_folder);
  if (status.ok()) return {Verdict::kPass, ""};
  // Messages start with the model's path, which differs from machine to machine.
  std::string message = status.message();
  const std::string path = test.folder + "/model.onnx: ";
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
