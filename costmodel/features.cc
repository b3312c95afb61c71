#include "costmodel/features.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/access.h"
#include "costmodel/prior.h"

namespace temper::costmodel {
namespace {

using tir::Bind;
using tir::Scope;

// Counts and sizes enter as log2(1 + x), so that a tree splits ratios.
float Log(double x) { return static_cast<float>(std::log2(1 + std::max(0.0, x))); }

// One line a feature of the store, in the order in which FillStore writes them.
constexpr std::string_view kStoreNames[kStoreFeatures] = {
    "fused",            // multiply-adds of all iterations, log
    "add",              // additions, log
    "multiply",         // multiplications, log
    "divide",           // divisions and remainders, log
    "compare",          // comparisons, selections, minima, log
    "cast",             // conversions, log
    "call",             // intrinsic calls, log
    "integer",          // integer arithmetic, log
    "iterations",       // of the statement, log
    "lanes",            // of the vector loop, 1 without one
    "unroll",           // statements of the unrolled body, log
    "parallel",         // iterations of the parallel loop, log
    "serial",           // extent of the innermost serial loop, log
    "loops",            // number of loops
    "body",             // vector instructions of arithmetic of the body, log
    "reduces",          // 1: reads what it writes
    "in_registers",     // 1: the result lies in registers
    "result_vectors",   // registers of the result
    "operand_vectors",  // registers of operands that the body uses again
    "pressure",         // registers needed over registers there are
    "per_load",         // arithmetic instructions a load
    "loads",            // of the body, log
    "stores",           // of the body, log
    "gathers",          // of the body, log
    "guards",           // conditions around the statement
    "body_cycles",      // estimated, log
    "compute_us",       // estimated, log of nanoseconds; so are the next four
    "l2_us",
    "l3_us",
    "memory_us",
    "total_us",
    "share",      // of the program's estimate
    "intensity",  // operations a byte touched, log
    "bytes",      // touched by all iterations, log
    "over_l1",    // bytes touched over the cache's size, log
    "over_l2",
    "over_l3",
    "inside_l1",  // iterations of the nest that fits the cache, log
    "inside_l2",
    "latency",     // cycles that the accumulation takes at least over the body's
    "balance",     // of the parallel loop on the threads, 1: even
    "prefetches",  // 1: a prefetch stands beside the statement
    "on_stack",    // 1: the result lies on the stack
    "threads",     // of the schedule
};

// One line a feature of a buffer.
constexpr std::string_view kBufferNames[kBufferFeatures] = {
    "read",           // 1: read by the statement
    "written",        // 1: written by it
    "accesses",       // bytes asked for by all iterations, log
    "unique",         // bytes touched, log
    "lines",          // touched, log
    "reuse",          // bytes asked for over bytes touched, log
    "vector_stride",  // elements between lanes, log
    "inner_stride",   // elements between iterations of the innermost serial loop, log
    "still",          // product of the extents of loops that do not move it, log
    "into_l1",        // lines moved into the cache, log
    "into_l2",       "into_l3",
    "body_lines",    // touched by one body, log
    "serial_lines",  // touched by the innermost serial loop, log
    "line_use",      // of the bytes of a touched line, how many are used, 0 to 1
    "workspace",     // 1: scratch memory of the caller
    "local",         // 1: on the stack or in registers
    "predicated",    // 1: read under a mask
};

constexpr int kShare = 31;
static_assert(kStoreNames[kShare] == "share");

struct Context {
  const StoreView& store;
  const StoreEstimate& estimate;
  const Target& target;
  int threads;
};

void FillStore(const Context& c, float* f) {
  const StoreView& s = c.store;
  const StoreEstimate& e = c.estimate;
  const Operations& ops = s.operations;
  double n = s.iterations;
  double bytes = 0;
  for (const AccessView& a : s.accesses) {
    if (a.scope != Scope::kRegister) bytes += a.footprint[0].elements * a.element_bytes;
  }
  double flops = 2 * ops.fused + ops.add + ops.multiply + ops.compare + 8 * ops.call + ops.divide;
  double needed = e.result_vectors + e.operand_vectors + 1;
  bool registers = s.accesses[0].scope == Scope::kRegister;
  double rounds = std::ceil(e.parallel / std::max(1, c.threads));
  const float values[kStoreFeatures] = {
      Log(n * ops.fused),
      Log(n * ops.add),
      Log(n * ops.multiply),
      Log(n * ops.divide),
      Log(n * ops.compare),
      Log(n * ops.cast),
      Log(n * ops.call),
      Log(n * ops.integer),
      Log(n),
      static_cast<float>(e.lanes),
      Log(e.unroll),
      Log(e.parallel),
      Log(e.serial),
      static_cast<float>(s.loops.size()),
      Log(e.body_operations),
      s.reduces ? 1.0F : 0.0F,
      registers ? 1.0F : 0.0F,
      static_cast<float>(e.result_vectors),
      static_cast<float>(e.operand_vectors),
      static_cast<float>(needed / c.target.vector_registers),
      static_cast<float>(e.body_operations / std::max(1.0, e.body_loads)),
      Log(e.body_loads),
      Log(e.body_stores),
      Log(e.body_gathers),
      static_cast<float>(s.guards),
      Log(e.body_cycles),
      Log(1000 * e.compute_us),
      Log(1000 * e.l2_us),
      Log(1000 * e.l3_us),
      Log(1000 * e.memory_us),
      Log(1000 * e.total_us),
      0,  // the share, which Join fills in
      Log(n * flops / std::max(1.0, bytes)),
      Log(bytes),
      Log(bytes / static_cast<double>(c.target.l1_bytes)),
      Log(bytes / static_cast<double>(c.target.l2_bytes)),
      Log(bytes / static_cast<double>(c.target.l3_bytes)),
      Log(e.inside_l1),
      Log(e.inside_l2),
      static_cast<float>(e.latency_cycles / std::max(1.0, e.body_cycles)),
      static_cast<float>(e.parallel / (rounds * std::max(1, c.threads))),
      s.prefetches > 0 ? 1.0F : 0.0F,
      s.accesses[0].scope == Scope::kStack ? 1.0F : 0.0F,
      static_cast<float>(c.threads),
  };
  std::copy(std::begin(values), std::end(values), f);
}

void FillBuffer(const Context& c, size_t number, float* f) {
  const StoreView& s = c.store;
  const AccessView& a = s.accesses[number];
  auto depth = s.loops.size();
  size_t inner = depth;  // the innermost serial loop
  double still = 1;
  int vector = -1;
  for (size_t l = depth; l-- > 0;) {
    if (s.loops[l].bind == Bind::kVector) vector = static_cast<int>(l);
    if (s.loops[l].bind == Bind::kSerial && inner == depth) inner = l;
    if (a.stride[l] == 0) still *= static_cast<double>(s.loops[l].extent);
  }
  double asked = s.iterations * a.element_bytes;
  double touched = a.footprint[0].elements * a.element_bytes;
  const auto& traffic = c.estimate.traffic[number];
  const float values[kBufferFeatures] = {
      a.read ? 1.0F : 0.0F,
      a.write ? 1.0F : 0.0F,
      Log(asked),
      Log(touched),
      Log(a.footprint[0].lines),
      Log(asked / touched),
      vector < 0 ? -1.0F : Log(std::abs(a.stride[vector])),
      inner == depth ? -1.0F : Log(std::abs(a.stride[inner])),
      Log(still),
      Log(traffic[0]),
      Log(traffic[1]),
      Log(traffic[2]),
      Log(a.footprint[std::min(inner + 1, depth)].lines),
      Log(a.footprint[inner].lines),
      static_cast<float>(
          std::min(1.0, touched / std::max(1.0, a.footprint[0].lines * c.target.line_bytes))),
      a.scope == Scope::kWorkspace ? 1.0F : 0.0F,
      a.scope == Scope::kStack || a.scope == Scope::kRegister ? 1.0F : 0.0F,
      a.predicated ? 1.0F : 0.0F,
  };
  std::copy(std::begin(values), std::end(values), f);
}

FeatureVector Fill(const Context& c) {
  FeatureVector f{};
  FillStore(c, f.data());
  // The buffers that move most, those in registers last.
  std::vector<size_t> order(c.store.accesses.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    return c.estimate.traffic[x][0] > c.estimate.traffic[y][0];
  });
  for (size_t i = 0; i < std::min<size_t>(order.size(), kBuffersDescribed); ++i) {
    FillBuffer(c, order[i], f.data() + kStoreFeatures + i * kBufferFeatures);
  }
  return f;
}

}  // namespace

NestFeatures ExtractNest(const tir::Function& function, const Target& target, int threads,
                         std::span<const int> constants, Constants place) {
  std::vector<StoreView> stores = ViewStores(function, target, constants, place);
  std::vector<StoreEstimate> estimates;
  EstimateProgram(stores, target, threads, &estimates);
  NestFeatures result;
  for (size_t i = 0; i < stores.size(); ++i) {
    result.stores.push_back(Fill({stores[i], estimates[i], target, threads}));
    result.us.push_back(estimates[i].total_us);
  }
  return result;
}

ProgramFeatures Join(std::span<const NestFeatures* const> nests) {
  ProgramFeatures result;
  size_t count = 0;
  for (const NestFeatures* nest : nests) {
    count += nest->stores.size();
    for (double us : nest->us) result.prior_us += us;
  }
  result.stores.reserve(std::max<size_t>(count, 1));
  for (const NestFeatures* nest : nests) {
    for (size_t i = 0; i < nest->stores.size(); ++i) {
      result.stores.push_back(nest->stores[i]);
      result.stores.back()[kShare] =
          static_cast<float>(nest->us[i] / std::max(1e-9, result.prior_us));
    }
  }
  if (result.stores.empty()) result.stores.emplace_back();
  return result;
}

ProgramFeatures ExtractFeatures(const tir::Function& function, const Target& target, int threads,
                                std::span<const int> constants, Constants place) {
  const NestFeatures all = ExtractNest(function, target, threads, constants, place);
  const NestFeatures* nests[] = {&all};
  return Join(nests);
}

std::string_view FeatureName(int position) {
  if (position < 0 || position >= kFeatureCount) return "";
  if (position < kStoreFeatures) return kStoreNames[position];
  return kBufferNames[(position - kStoreFeatures) % kBufferFeatures];
}

}  // namespace temper::costmodel
