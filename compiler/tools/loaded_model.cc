#include "compiler/tools/loaded_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/seeded_values.h"
#include "compiler/graph/tensor.h"
#include "compiler/graph/type.h"
#include "compiler/tools/console.h"

namespace temper::tools {
namespace {

Status LastError() { return FailedPrecondition(temper_error()); }

DLTensor TensorOver(Array& array, DLDataType type, std::vector<int64_t>& shape) {
  DLTensor tensor{};
  tensor.data = array.data.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = type;
  tensor.shape = shape.data();
  return tensor;
}

std::vector<int64_t> MaxShape(const temper_tensor_info& info) {
  return {info.max_shape, info.max_shape + info.ndim};
}

Result<Array> NewArray(const temper_tensor_info& info) {
  TEMPER_ASSIGN_OR_RETURN(const DType dtype, TypeOf(info));
  Array array{dtype, MaxShape(info), {}};
  const auto bytes = graph::ByteCount(dtype, array.shape);
  if (!bytes) return ResourceExhausted(fmt::format("tensor {} is too large", info.name));
  const std::string too_large = fmt::format(
      "there is no memory for the {} of {}. Use a machine with more, or compile the "
      "model for smaller shapes.",
      FormatBytes(static_cast<double>(*bytes)), Describe(info));
  // What the system promises but does not have would end the process when it is filled.
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (static_cast<double>(*bytes) > memory) return ResourceExhausted(too_large);
  try {
    array.data.resize(*bytes);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(too_large);
  }
  return array;
}

}  // namespace

Result<ModelPtr> OpenModel(const std::string& path, int threads) {
  temper_model* model = nullptr;
  if (temper_open(path.c_str(), threads ? threads : 1, &model)) return LastError();
  ModelPtr opened(model);
  if (threads == 0 && temper_compiled_threads(model) > 1) {
    const int compiled = temper_compiled_threads(model);
    opened.reset();
    if (temper_open(path.c_str(), compiled, &model)) return LastError();
    opened.reset(model);
  }
  return opened;
}

Result<DType> TypeOf(const temper_tensor_info& info) {
  const DLDataType type = info.dtype;
  const int bits = type.bits;
  switch (type.code) {
    case kDLFloat:
      if (bits == 32) return DType::kFloat32;
      if (bits == 64) return DType::kFloat64;
      if (bits == 16) return DType::kFloat16;
      break;
    case kDLBfloat:
      if (bits == 16) return DType::kBFloat16;
      break;
    case kDLInt:
      if (bits == 8) return DType::kInt8;
      if (bits == 16) return DType::kInt16;
      if (bits == 32) return DType::kInt32;
      if (bits == 64) return DType::kInt64;
      break;
    case kDLUInt:
      if (bits == 8) return DType::kUInt8;
      if (bits == 16) return DType::kUInt16;
      if (bits == 32) return DType::kUInt32;
      if (bits == 64) return DType::kUInt64;
      break;
    case kDLBool:
      return DType::kBool;
    case kDLFloat8_e4m3fn:
      return DType::kFloat8E4M3FN;
    case kDLFloat8_e4m3fnuz:
      return DType::kFloat8E4M3FNUZ;
    case kDLFloat8_e5m2:
      return DType::kFloat8E5M2;
    case kDLFloat8_e5m2fnuz:
      return DType::kFloat8E5M2FNUZ;
    default:
      break;
  }
  return Unimplemented(
      fmt::format("tensor {} has elements of type code {} and {} bits, which this "
                  "temper does not know. Use the newest temper.",
                  info.name, static_cast<int>(type.code), bits));
}

std::string Describe(const temper_tensor_info& info) {
  auto dtype = TypeOf(info);
  return fmt::format("{} {}{}", info.name, dtype.ok() ? Name(*dtype) : "?",
                     graph::ShapeToString({info.shape, info.shape + info.ndim}));
}

Result<Array> SeededArray(const temper_tensor_info& info, uint64_t seed, int argument) {
  TEMPER_ASSIGN_OR_RETURN(Array array, NewArray(info));
  if (!FillSeeded(array.dtype, seed, argument, array.size(), false, array.data.data())) {
    // Zeros, where there are no seeded values of the type.
    std::fill(array.data.begin(), array.data.end(), std::byte{0});
  }
  return array;
}

Result<std::vector<Array>> SeededInputs(const temper_model* model, int specialization) {
  std::vector<Array> inputs;
  for (int i = 0; i < temper_input_count(model); ++i) {
    const temper_tensor_info& info = temper_specialization(model, specialization)->inputs[i];
    TEMPER_ASSIGN_OR_RETURN(Array array, SeededArray(info, 1, i));
    inputs.push_back(std::move(array));
  }
  return inputs;
}

std::vector<int> PlainSpecializations(const temper_model* model) {
  std::vector<int> plain;
  for (int k = 0; k < temper_specialization_count(model); ++k) {
    const bool fixed = temper_specialization(model, k)->fixed_defaults != 0;
    // One whose defaults are not compiled in comes behind the one where they are.
    if (fixed || temper_optional_count(model) == 0) plain.push_back(k);
  }
  if (plain.empty()) {
    for (int k = 0; k < temper_specialization_count(model); ++k) plain.push_back(k);
  }
  return plain;
}

std::string DescribeInputs(const temper_model* model, int specialization) {
  std::string text;
  for (int i = 0; i < temper_input_count(model); ++i) {
    text += (i ? ", " : "") + Describe(temper_specialization(model, specialization)->inputs[i]);
  }
  return text;
}

Result<Runner> Runner::Create(temper_model* model, const std::vector<Array>* inputs,
                              const std::map<int, Array>* optional) {
  Runner runner;
  runner.model_ = model;
  const int input_count = temper_input_count(model), output_count = temper_output_count(model);
  const int optional_count = temper_optional_count(model);
  TEMPER_CHECK(static_cast<int>(inputs->size()) == input_count);
  runner.outputs_.resize(output_count);
  runner.output_shapes_.resize(output_count);
  runner.tensors_.resize(input_count + optional_count + output_count);
  const auto input = [&](int slot, const Array& given, const temper_tensor_info& info) {
    // The runtime does not write to inputs; DLPack has one struct for both.
    auto& array = const_cast<Array&>(given);
    runner.tensors_[slot] = TensorOver(array, info.dtype, array.shape);
    return &runner.tensors_[slot];
  };
  for (int i = 0; i < input_count; ++i) {
    runner.input_pointers_.push_back(input(i, (*inputs)[i], *temper_input(model, i)));
  }
  runner.optional_pointers_.assign(optional_count, nullptr);
  for (int i = 0; optional != nullptr && i < optional_count; ++i) {
    const auto given = optional->find(i);
    if (given == optional->end()) continue;
    runner.optional_pointers_[i] =
        input(input_count + i, given->second, *temper_optional(model, i));
  }
  const int chosen =
      temper_choose(model, runner.input_pointers_.data(), runner.optional_pointers_.data());
  if (chosen < 0) return LastError();
  runner.chosen_ = temper_specialization(model, chosen);
  for (int i = 0; i < output_count; ++i) {
    const temper_tensor_info& info = runner.chosen_->outputs[i];
    TEMPER_ASSIGN_OR_RETURN(runner.outputs_[i], NewArray(info));
    runner.output_shapes_[i] = runner.outputs_[i].shape;
    DLTensor& tensor = runner.tensors_[input_count + optional_count + i];
    tensor = TensorOver(runner.outputs_[i], info.dtype, runner.output_shapes_[i]);
    runner.output_pointers_.push_back(&tensor);
  }
  return runner;
}

Status Runner::Finish(int code) {
  if (code != 0) return LastError();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const temper_tensor_info& info = chosen_->outputs[i];
    outputs_[i].shape = output_shapes_[i];
    std::copy(info.max_shape, info.max_shape + info.ndim, output_shapes_[i].begin());
  }
  return OkStatus();
}

Status Runner::Run() {
  return Finish(temper_run_with(model_, input_pointers_.data(), optional_pointers_.data(),
                                output_pointers_.data(), nullptr));
}

Status Runner::RunTimed(std::vector<double>* step_us) {
  step_us->assign(std::max(chosen_->step_count, 1), 0);
  const int code = temper_run_with(model_, input_pointers_.data(), optional_pointers_.data(),
                                   output_pointers_.data(), step_us->data());
  step_us->resize(chosen_->step_count);
  return Finish(code);
}

}  // namespace temper::tools
