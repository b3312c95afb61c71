#include "compiler/graph/op_list.h"

#include <algorithm>
#include <array>

namespace temper::graph {
namespace {

constexpr auto kOps = std::to_array<OpInfo>({
#define TEMPER_OP(name, min_inputs, max_inputs, min_outputs, max_outputs) \
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

}  // namespace temper::graph
