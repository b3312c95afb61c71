#include "compiler/graph/op_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/graph/outside_op.h"

namespace temper::graph {
namespace {

constexpr auto kOps = std::to_array<OpInfo>({
#define TEMPER_OP(name, min_inputs, max_inputs, min_outputs, max_outputs, infer, eval) \
  {#name, min_inputs, max_inputs, min_outputs, max_outputs},
#include "compiler/graph/op_list.inc"
#undef TEMPER_OP
});

constexpr bool Sorted() {
  for (size_t i = 1; i < kOps.size(); ++i) {
    if (!(kOps[i - 1].name < kOps[i].name)) return false;
  }
  return true;
}
static_assert(Sorted(), "op_list.inc must be sorted by name, without repeats");

}  // namespace

std::span<const OpInfo> OpList() { return kOps; }

const OpInfo* FindOp(std::string_view domain, std::string_view name) {
  if (!domain.empty()) return nullptr;
  const auto it =
      std::lower_bound(kOps.begin(), kOps.end(), name,
                       [](const OpInfo& op, std::string_view n) { return op.name < n; });
  return it != kOps.end() && it->name == name ? &*it : nullptr;
}

Status CheckArity(const Node& node) {
  OpInfo outside;
  const OpInfo* op = FindOp(node.domain, node.op);
  if (const OutsideOp* o = node.outside) {
    outside = {o->name, o->min_inputs, o->max_inputs, o->min_outputs, o->max_outputs};
    op = &outside;
  }
  TEMPER_CHECK(op != nullptr);
  const int inputs = static_cast<int>(node.inputs.size());
  const int outputs = static_cast<int>(node.outputs.size());
  if (op->max_inputs >= 0 && inputs > op->max_inputs) {
    return InvalidArgument(fmt::format("{}: it has {} inputs; {} takes at most {}", node.Describe(),
                                       inputs, node.op, op->max_inputs));
  }
  // Where any number of inputs is taken, each must be there.
  const int required = op->max_inputs < 0 ? std::max(inputs, op->min_inputs) : op->min_inputs;
  for (int i = 0; i < required; ++i) {
    if (!node.HasInput(static_cast<size_t>(i))) {
      return InvalidArgument(fmt::format("{}: input {} is missing", node.Describe(), i));
    }
  }
  if (outputs < op->min_outputs || (op->max_outputs >= 0 && outputs > op->max_outputs)) {
    return InvalidArgument(fmt::format("{}: it has {} outputs", node.Describe(), outputs));
  }
  return OkStatus();
}

}  // namespace temper::graph
