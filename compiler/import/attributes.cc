#include "compiler/import/attributes.h"

#include <fmt/format.h>

#include "compiler/import/attribute_list.h"

namespace temper::importer {
namespace {

using graph::Attribute;

// Attributes that are numbers of element types, which become names.
bool IsElementType(const std::string& op, const std::string& attribute) {
  return (op == "Cast" && attribute == "to") || (op == "EyeLike" && attribute == "dtype") ||
         ((op == "QuantizeLinear" || op == "DequantizeLinear") && attribute == "output_dtype") ||
         attribute == "output_datatype";
}

Result<Attribute> ReadAttribute(const onnx::AttributeProto& a, TensorReader& reader) {
  switch (TypeOf(a)) {
    case AttributeType::kFloat:
      return Attribute(a.f());
    case AttributeType::kInt:
      return Attribute(static_cast<int64_t>(a.i()));
    case AttributeType::kString:
      return Attribute(a.s());
    case AttributeType::kFloats:
      return Attribute(std::vector<float>(a.floats().begin(), a.floats().end()));
    case AttributeType::kInts:
    case AttributeType::kUnknown:
      return Attribute(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
    case AttributeType::kStrings:
      return Attribute(std::vector<std::string>(a.strings().begin(), a.strings().end()));
    case AttributeType::kTensor: {
      TEMPER_ASSIGN_OR_RETURN(graph::Tensor tensor, reader.Read(a.t()));
      return Attribute(std::move(tensor));
    }
    case AttributeType::kSparseTensor:
      return Unimplemented("sparse tensors are not supported");
    default:
      return Unimplemented(
          fmt::format("attributes of type {} are not supported", static_cast<int>(TypeOf(a))));
  }
}

}  // namespace

namespace {

Status Add(const std::string& name, Attribute value, graph::Attributes* attributes) {
  if (attributes->emplace(name, std::move(value)).second) return OkStatus();
  return InvalidArgument(fmt::format("attribute '{}' is there twice", name));
}

bool Holds(const Attribute& value, AttributeType type) {
  switch (type) {
    case AttributeType::kFloat:
      return std::holds_alternative<float>(value);
    case AttributeType::kInt:  // element types are names by now
      return std::holds_alternative<int64_t>(value) || std::holds_alternative<std::string>(value);
    case AttributeType::kString:
      return std::holds_alternative<std::string>(value);
    case AttributeType::kTensor:
      return std::holds_alternative<graph::Tensor>(value);
    case AttributeType::kFloats:
      return std::holds_alternative<std::vector<float>>(value);
    case AttributeType::kInts:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case AttributeType::kStrings:
      return std::holds_alternative<std::vector<std::string>>(value);
    default:
      return false;
  }
}

// A number for an element type becomes its name.
Status NameType(Attribute* value) {
  const int64_t* number = std::get_if<int64_t>(value);
  if (number == nullptr) return OkStatus();
  const int small = *number >= 0 && *number < 1000 ? static_cast<int>(*number) : 0;
  if (!DTypeOfOnnx(small)) {
    return Unimplemented(fmt::format("the element type {} is not supported", OnnxTypeName(small)));
  }
  *value = Attribute(OnnxTypeName(small));
  return OkStatus();
}

Status ReadInto(const onnx::AttributeProto& a, TensorReader& reader,
                const graph::Attributes* arguments, graph::Attributes* attributes) {
  if (TypeOf(a) == AttributeType::kGraph || TypeOf(a) == AttributeType::kGraphs) return OkStatus();
  if (a.ref_attr_name().empty()) {
    TEMPER_ASSIGN_OR_RETURN(Attribute value, ReadAttribute(a, reader));
    return Add(a.name(), std::move(value), attributes);
  }
  if (arguments == nullptr) {
    return InvalidArgument("it refers to an attribute of a function, but is in none");
  }
  const auto given = arguments->find(a.ref_attr_name());
  if (given == arguments->end()) return OkStatus();
  if (a.type() != 0 && !Holds(given->second, TypeOf(a))) {
    return InvalidArgument(
        fmt::format("the function's attribute '{}' is of another type", a.ref_attr_name()));
  }
  return Add(a.name(), given->second, attributes);
}

}  // namespace

Result<graph::Attributes> ReadAttributes(const onnx::NodeProto& node, TensorReader& reader,
                                         const graph::Attributes* arguments) {
  graph::Attributes attributes;
  for (const onnx::AttributeProto& a : node.attribute()) {
    TEMPER_RETURN_IF_ERROR(ReadInto(a, reader, arguments, &attributes)
                               .WithContext(fmt::format("attribute '{}'", a.name())));
  }
  for (auto& [name, value] : attributes) {
    if (IsElementType(node.op_type(), name)) TEMPER_RETURN_IF_ERROR(NameType(&value));
  }
  return attributes;
}

Result<graph::Attributes> ReadArguments(const onnx::NodeProto& call,
                                        const onnx::FunctionProto& function, TensorReader& reader,
                                        const graph::Attributes* arguments) {
  TEMPER_ASSIGN_OR_RETURN(graph::Attributes given, ReadAttributes(call, reader, arguments));
  for (const onnx::AttributeProto& a : function.attribute_proto()) {
    if (given.count(a.name()) != 0) continue;
    TEMPER_RETURN_IF_ERROR(
        ReadInto(a, reader, nullptr, &given).WithContext(fmt::format("attribute '{}'", a.name())));
  }
  return given;
}

Result<graph::Tensor> ReadConstant(const onnx::NodeProto& node, TensorReader& reader,
                                   const graph::Attributes* arguments) {
  TEMPER_ASSIGN_OR_RETURN(const graph::Attributes attributes,
                          ReadAttributes(node, reader, arguments));
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
  if (attributes.count("value_string") + attributes.count("value_strings") != 0) {
    return Unimplemented("strings are not supported");
  }
  return InvalidArgument("it has no value");
}

}  // namespace temper::importer
