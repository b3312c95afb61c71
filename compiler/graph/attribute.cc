#include "compiler/graph/attribute.h"

#include <fmt/format.h>

#include "compiler/graph/type.h"

namespace temper::graph {
namespace {

template <typename T>
std::string List(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    if constexpr (std::is_same_v<T, std::string>) {
      text += fmt::format("\"{}\"", values[i]);
    } else {
      text += fmt::format("{}", values[i]);
    }
  }
  return text + "]";
}

struct ToText {
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(float v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
  std::string operator()(const Tensor& v) const {
    return fmt::format("{}{}", Name(v.dtype), ShapeToString(v.shape));
  }
  std::string operator()(const std::shared_ptr<const Graph>&) const { return "graph"; }
  template <typename T>
  std::string operator()(const std::vector<T>& v) const {
    return List(v);
  }
};

}  // namespace

std::string AttributeToString(const Attribute& attribute) {
  return std::visit(ToText{}, attribute);
}

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* tensor = std::get_if<Tensor>(&a)) return SameBits(*tensor, std::get<Tensor>(b));
  return std::visit(
      [&b](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return false;  // compared above
        } else {
          return v == std::get<T>(b);
        }
      },
      a);
}

}  // namespace temper::graph
