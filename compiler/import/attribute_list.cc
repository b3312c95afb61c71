#include "compiler/import/attribute_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"

namespace temper::importer {
namespace {

struct Listed {
  std::string_view op, name;
  AttributeType type;
  int first, last;  // opsets
  bool required;
};

constexpr Listed kListed[] = {
#define TEMPER_ATTRIBUTE(op, name, type, first, last, required) \
  {#op, #name, AttributeType::k##type, first, last, required},
#include "compiler/import/attribute_list.inc"
#undef TEMPER_ATTRIBUTE
};

// Of all operators: a hint of opset 1 about memory, which later models still carry.
constexpr std::string_view kHint = "consumed_inputs";

std::string Describe(AttributeType type) {
  switch (type) {
    case AttributeType::kFloat:
      return "a float";
    case AttributeType::kInt:
      return "an integer";
    case AttributeType::kString:
      return "a string";
    case AttributeType::kTensor:
      return "a tensor";
    case AttributeType::kGraph:
      return "a graph";
    case AttributeType::kFloats:
      return "a list of floats";
    case AttributeType::kInts:
      return "a list of integers";
    case AttributeType::kStrings:
      return "a list of strings";
    case AttributeType::kTensors:
      return "a list of tensors";
    case AttributeType::kGraphs:
      return "a list of graphs";
    case AttributeType::kSparseTensor:
      return "a sparse tensor";
    case AttributeType::kUnknown:
      return "without a value";
    default:
      return fmt::format("of type {}", static_cast<int>(type));
  }
}

std::string Names(const Listed* begin, const Listed* end, int opset) {
  std::string names;
  for (const Listed* l = begin; l != end; ++l) {
    if (opset < l->first || opset > l->last) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", l->name);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

AttributeType TypeOf(const onnx::AttributeProto& a) {
  if (a.has_type() && a.type() != 0) return static_cast<AttributeType>(a.type());
  if (a.has_f()) return AttributeType::kFloat;
  if (a.has_i()) return AttributeType::kInt;
  if (a.has_s()) return AttributeType::kString;
  if (a.has_t()) return AttributeType::kTensor;
  if (a.has_g()) return AttributeType::kGraph;
  if (a.floats_size() > 0) return AttributeType::kFloats;
  if (a.ints_size() > 0) return AttributeType::kInts;
  if (a.strings_size() > 0) return AttributeType::kStrings;
  return AttributeType::kUnknown;
}

Status CheckAttributes(const onnx::NodeProto& node, int opset) {
  const auto [begin, end] = std::equal_range(
      std::begin(kListed), std::end(kListed), Listed{node.op_type(), {}, {}, 0, 0, false},
      [](const Listed& a, const Listed& b) { return a.op < b.op; });
  const auto find = [&, from = begin, to = end](const std::string& name) {
    return std::find_if(from, to, [&](const Listed& l) {
      return l.name == name && opset >= l.first && opset <= l.last;
    });
  };
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.name() == kHint) continue;
    const Listed* listed = find(a.name());
    if (listed == end) {
      return InvalidArgument(
          fmt::format("attribute '{}' is none of this operator's in opset {} (it has: {})",
                      EscapeControl(a.name()), opset, Names(begin, end, opset)));
    }
    const AttributeType type = TypeOf(a);
    const bool list = listed->type == AttributeType::kFloats ||
                      listed->type == AttributeType::kInts ||
                      listed->type == AttributeType::kStrings;
    if (type == listed->type || (type == AttributeType::kUnknown && list)) continue;
    return InvalidArgument(fmt::format("attribute '{}' is {}; it must be {}",
                                       EscapeControl(a.name()), Describe(type),
                                       Describe(listed->type)));
  }
  for (const Listed* l = begin; l != end; ++l) {
    if (!l->required || opset < l->first || opset > l->last) continue;
    if (std::any_of(node.attribute().begin(), node.attribute().end(),
                    [&](const onnx::AttributeProto& a) { return a.name() == l->name; })) {
      continue;
    }
    return InvalidArgument(fmt::format("attribute '{}' is missing", l->name));
  }
  return OkStatus();
}

}  // namespace temper::importer
