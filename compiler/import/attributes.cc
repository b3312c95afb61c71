#include "compiler/import/attributes.h"

#include <fmt/format.h>

namespace temper::importer {
namespace {

using graph::Attribute;

enum Type { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };

// Models of IR version 1 do not say the type.
int TypeOf(const onnx::AttributeProto& a) {
  if (a.has_type() && a.type() != 0) return a.type();
  if (a.has_f()) return kFloat;
  if (a.has_i()) return kInt;
  if (a.has_s()) return kString;
  if (a.has_t()) return kTensor;
  if (a.has_g()) return kGraph;
  if (a.floats_size() > 0) return kFloats;
  if (a.strings_size() > 0) return kStrings;
  return kInts;
}

// Attributes that are numbers of element types, which become names.
bool IsElementType(const std::string& op, const std::string& attribute) {
  return (op == "Cast" && attribute == "to") || (op == "EyeLike" && attribute == "dtype") ||
         ((op == "QuantizeLinear" || op == "DequantizeLinear") && attribute == "output_dtype") ||
         attribute == "output_datatype";
}

Result<Attribute> ReadAttribute(const onnx::AttributeProto& a, TensorReader& reader) {
  if (!a.ref_attr_name().empty()) {
    return InvalidArgument("it refers to an attribute of a function, but is in none");
  }
  switch (TypeOf(a)) {
    case kFloat:
      return Attribute(a.f());
    case kInt:
      return Attribute(static_cast<int64_t>(a.i()));
    case kString:
      return Attribute(a.s());
    case kFloats:
      return Attribute(std::vector<float>(a.floats().begin(), a.floats().end()));
    case kInts:
      return Attribute(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
    case kStrings:
      return Attribute(std::vector<std::string>(a.strings().begin(), a.strings().end()));
    case kTensor: {
      TEMPER_ASSIGN_OR_RETURN(graph::Tensor tensor, reader.Read(a.t()));
      return Attribute(std::move(tensor));
    }
    default:
      return Unimplemented(fmt::format("attributes of type {} are not supported", TypeOf(a)));
  }
}

}  // namespace

Result<graph::Attributes> ReadAttributes(const onnx::NodeProto& node, TensorReader& reader) {
  graph::Attributes attributes;
  for (const onnx::AttributeProto& a : node.attribute()) {
    auto value = ReadAttribute(a, reader);
    if (!value.ok()) return value.status().WithContext(fmt::format("attribute '{}'", a.name()));
    if (IsElementType(node.op_type(), a.name())) {
      if (const int64_t* number = std::get_if<int64_t>(&*value)) {
        const int small = *number >= 0 && *number < 1000 ? static_cast<int>(*number) : 0;
        if (!DTypeOfOnnx(small)) {
          return Unimplemented(
              fmt::format("the element type {} is not supported", OnnxTypeName(small)));
        }
        *value = Attribute(OnnxTypeName(small));
      }
    }
    if (!attributes.emplace(a.name(), std::move(value).value()).second) {
      return InvalidArgument(fmt::format("attribute '{}' is there twice", a.name()));
    }
  }
  return attributes;
}

Result<graph::Tensor> ReadConstant(const onnx::NodeProto& node, TensorReader& reader) {
  TEMPER_ASSIGN_OR_RETURN(const graph::Attributes attributes, ReadAttributes(node, reader));
  for (const auto& [name, value] : attributes) {
    if (const auto* tensor = std::get_if<graph::Tensor>(&value)) return *tensor;
    if (const auto* number = std::get_if<float>(&value)) return graph::MakeScalar(*number);
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      return graph::MakeInts({}, {integer, 1});
    }
    if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
      return graph::MakeFloats({static_cast<int64_t>(floats->size())}, *floats);
    }
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      return graph::MakeInts({static_cast<int64_t>(ints->size())}, *ints);
    }
  }
  return InvalidArgument("it has no value of a kind that is supported");
}

}  // namespace temper::importer
