#include "compiler/graph/outside_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace temper::graph {

const OutsideOp* FindOutsideOp(const OutsideOps* ops, const std::string& domain,
                               const std::string& name) {
  if (ops == nullptr || domain.empty()) return nullptr;
  const auto found = ops->find({domain, name});
  return found == ops->end() ? nullptr : found->second.get();
}

Status FillAttributes(const OutsideOp& op, Attributes* attributes) {
  std::string known;
  for (const OutsideAttribute& a : op.attributes) known += (known.empty() ? "" : ", ") + a.name;
  for (const auto& [name, value] : *attributes) {
    const auto at = std::find_if(op.attributes.begin(), op.attributes.end(),
                                 [&name = name](const auto& a) { return a.name == name; });
    if (at == op.attributes.end()) {
      return InvalidArgument(fmt::format("it has an attribute {}; {} takes {}", Quoted(name),
                                         op.name, known.empty() ? "none" : known));
    }
    if (at->value.index() != value.index()) {
      return InvalidArgument(
          fmt::format("its attribute {} is {}, which is of another type than {} takes",
                      Quoted(name), AttributeToString(value), op.name));
    }
  }
  for (const OutsideAttribute& a : op.attributes) {
    if (attributes->count(a.name) != 0) continue;
    if (a.required) return InvalidArgument(fmt::format("it lacks the attribute {}", a.name));
    attributes->emplace(a.name, a.value);
  }
  return OkStatus();
}

}  // namespace temper::graph
