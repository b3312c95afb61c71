#include "compiler/import/inputs.h"

#include <fmt/format.h>

namespace temper::importer {
namespace {

using graph::Dim;
using graph::Shape;
using graph::ValueType;

std::string ListInputs(const std::vector<DeclaredInput>& inputs) {
  std::string text;
  for (const DeclaredInput& input : inputs) {
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", input.name, input.type.ToString());
  }
  return "the model's inputs are " + (text.empty() ? "none" : text);
}

// "1x3x48x192"; open dimensions get sizes that are usual, as an example.
std::string FlagShape(const ValueType& type) {
  std::string text;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const Dim& dim = type.dims[i];
    text += i > 0 ? "x" : "";
    const int64_t usual = i == 0 ? 1 : type.dims.size() >= 3 && i >= 2 ? 224 : 128;
    text += std::to_string(dim.known() ? dim.value : usual);
  }
  return text;
}

Status Apply(const DeclaredInput& input, const Shape& shape, ValueType& type) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument(fmt::format("--shape {}={}: {}; the model declares '{}' as {}",
                                       input.name,
                                       FlagShape(graph::TensorType(DType::kFloat32, shape)), why,
                                       input.name, input.type.ToString()));
  };
  if (shape.size() > 64) return refuse("it has too many dimensions");
  for (int64_t dim : shape) {
    if (dim < 1) return refuse("a dimension must be at least 1");
  }
  if (type.has_rank && type.dims.size() != shape.size()) {
    return refuse(
        fmt::format("it has {} dimensions instead of {}", shape.size(), type.dims.size()));
  }
  if (!type.has_rank) type.dims.assign(shape.size(), Dim());
  type.has_rank = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    // Some exporters mean "any" by 0, so that --shape may set it.
    if (type.dims[i].value > 0 && type.dims[i].value != shape[i]) {
      return refuse(fmt::format("dimension {} is fixed at {}", i, type.dims[i].value));
    }
    type.dims[i].value = shape[i];  // the name stays until names are settled
  }
  return OkStatus();
}

// Gives all dimensions of one name the size that one of them got.
Status SettleNames(const std::vector<DeclaredInput>& inputs, std::vector<ValueType>& types) {
  std::map<std::string, std::pair<int64_t, std::string>> sizes;  // name -> size, input
  for (size_t i = 0; i < types.size(); ++i) {
    for (const Dim& dim : types[i].dims) {
      if (dim.symbol.empty() || !dim.known()) continue;
      const auto [it, added] = sizes.try_emplace(dim.symbol, dim.value, inputs[i].name);
      if (!added && it->second.first != dim.value) {
        return InvalidArgument(fmt::format(
            "dimension '{}' is {} in input '{}' but {} in input '{}'; make the --shape flags agree",
            dim.symbol, it->second.first, it->second.second, dim.value, inputs[i].name));
      }
    }
  }
  for (ValueType& type : types) {
    for (Dim& dim : type.dims) {
      const auto it = sizes.find(dim.symbol);
      if (!dim.known() && it != sizes.end()) dim.value = it->second.first;
      if (dim.known()) dim.symbol.clear();
    }
  }
  return OkStatus();
}

Status CheckClosed(const DeclaredInput& input, const ValueType& type) {
  if (!type.has_rank) {
    return InvalidArgument(fmt::format(
        "input '{}' has no declared shape; give it one with --shape {}=..., such as 1x3x224x224",
        input.name, input.name));
  }
  std::string open;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i].known()) continue;
    const std::string& symbol = type.dims[i].symbol;
    open += (open.empty() ? "" : ", ") + std::to_string(i) +
            (symbol.empty() ? "" : " ('" + symbol + "')");
  }
  if (!open.empty()) {
    return InvalidArgument(
        fmt::format("input '{}' {} leaves dimension {} open; set its sizes, such as --shape {}={}",
                    input.name, input.type.ToString(), open, input.name, FlagShape(type)));
  }
  if (!graph::ByteCount(*type.dtype, type.StaticShape())) {
    return InvalidArgument(fmt::format("input '{}' {} is too large", input.name, type.ToString()));
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<ValueType>> ResolveInputs(const std::vector<DeclaredInput>& inputs,
                                             const std::map<std::string, Shape>& shapes,
                                             bool allow_open) {
  std::vector<ValueType> types;
  size_t used = 0;
  for (const DeclaredInput& input : inputs) {
    types.push_back(input.type);
    const auto it = shapes.find(input.name);
    if (it == shapes.end()) continue;
    ++used;
    TEMPER_RETURN_IF_ERROR(Apply(input, it->second, types.back()));
  }
  if (used != shapes.size()) {
    for (const auto& [name, shape] : shapes) {
      bool found = false;
      for (const DeclaredInput& input : inputs) found |= input.name == name;
      if (!found) {
        return InvalidArgument(
            fmt::format("--shape names '{}', which is no input; {}", name, ListInputs(inputs)));
      }
    }
  }
  TEMPER_RETURN_IF_ERROR(SettleNames(inputs, types));
  if (!allow_open) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      TEMPER_RETURN_IF_ERROR(CheckClosed(inputs[i], types[i]));
    }
  }
  return types;
}

}  // namespace temper::importer
