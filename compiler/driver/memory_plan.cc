#include "compiler/driver/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace temper::driver {
namespace {

constexpr int64_t kMaxArenaBytes = int64_t{1} << 46;

struct Placed {
  int64_t begin, end;
  int first, last;
};

int64_t RoundUp(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

Result<MemoryPlan> PlanMemory(const std::vector<BufferLife>& buffers) {
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<Placed> placed;  // by begin
  for (int b : order) {
    const BufferLife& life = buffers[b];
    TEMPER_CHECK(life.bytes >= 0 && life.first <= life.last);
    if (life.bytes > kMaxArenaBytes) {
      return ResourceExhausted("a tensor of " + std::to_string(life.bytes) +
                               " bytes is too large to compile. Give smaller shapes.");
    }
    const int64_t size = RoundUp(std::max<int64_t>(life.bytes, 1));
    int64_t offset = 0;
    for (const Placed& p : placed) {
      if (p.last < life.first || p.first > life.last) continue;
      if (p.begin >= offset + size) break;
      offset = std::max(offset, p.end);
    }
    if (offset + size > kMaxArenaBytes) {
      return ResourceExhausted("the model needs more than " + std::to_string(kMaxArenaBytes) +
                               " bytes of scratch memory. Give smaller shapes.");
    }
    plan.offsets[b] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + size);
    const Placed entry{offset, offset + size, life.first, life.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& x, const Placed& y) { return x.begin < y.begin; }),
        entry);
  }
  return plan;
}

}  // namespace temper::driver
