#include "compiler/import/attributes.h"

#include <fmt/format.h>

namespace temper::importer {
namespace {

using graph::Attribute;

enum Type {
  kFloat = 1,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kGraphs = 10,
  kSparse = 11
};

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
    case kSparse:
      return Unimplemented("sparse tensors are not supported");
    default:
      return Unimplemented(fmt::format("attributes of type {} are not supported", TypeOf(a)));
  }
}

}  // namespace

namespace {

Status Add(const std::string& name, Attribute value, graph::Attributes* attributes) {
  if (attributes->emplace(name, std::move(value)).second) return OkStatus();
  return InvalidArgument(fmt::format("attribute '{}' is there twice", name));
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
  if (TypeOf(a) == kGraph || TypeOf(a) == kGraphs) return OkStatus();
  if (a.ref_attr_name().empty()) {
    TEMPER_ASSIGN_OR_RETURN(Attribute value, ReadAttribute(a, reader));
    return Add(a.name(), std::move(value), attributes);
  }
  if (arguments == nullptr) {
    return InvalidArgument("it refers to an attribute of a function, but is in none");
  }
  const auto given = arguments->find(a.ref_attr_name());
  return given == arguments->end() ? OkStatus() : Add(a.name(), given->second, attributes);
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
