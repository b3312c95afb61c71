#include "costmodel/prior.h"

#include <algorithm>
#include <cmath>

namespace temper::costmodel {
namespace {

using tir::Bind;
using tir::Scope;

constexpr double kCyclesPerUs = 4900;  // of a clock at which the bodies below are modelled well
constexpr double kFmaPerCycle = 2, kLoadsPerCycle = 2, kStoresPerCycle = 1, kIssueWidth = 6;
constexpr double kFmaLatency = 4;
constexpr double kCallCycles = 10;  // of an intrinsic call, a vector
constexpr double kConflict = 0.2;   // of the lesser of arithmetic and loads, what is not hidden
constexpr double kL2BytesPerUs = 170e3, kL3BytesPerUs = 150e3, kMemoryBytesPerUs = 30e3;
constexpr double kHidden = 0.92;            // of the lesser costs, how much the largest one hides
constexpr double kLoopCycles = 0.4;         // of one iteration of a serial loop
constexpr double kParallelStartUs = 3.0;    // of waking the pool
constexpr double kCacheShare = 0.75;        // of a cache that a nest may fill
constexpr double kSharedCacheShare = 0.25;  // of one that other cores and programs use too
constexpr double kFirstMissCycles = 12;     // of entering a nest: a line from L2

bool InRegisters(const AccessView& a) { return a.scope == Scope::kRegister; }

// Total bytes of the lines touched with loops from `level` on running.
double BytesAt(const StoreView& s, size_t level, const Target& target) {
  double bytes = 0;
  for (const AccessView& a : s.accesses) {
    if (!InRegisters(a)) bytes += a.footprint[level].lines * target.line_bytes;
  }
  return bytes;
}

// The outermost level whose nest fits `capacity` bytes.
size_t FittingLevel(const StoreView& s, double capacity, const Target& target) {
  size_t level = s.loops.size();
  while (level > 0 && BytesAt(s, level - 1, target) <= capacity) --level;
  return level;
}

double IterationsInside(const StoreView& s, size_t level) {
  double n = 1;
  for (size_t l = level; l < s.loops.size(); ++l) n *= static_cast<double>(s.loops[l].extent);
  return n;
}

// Lines moved into a cache whose largest fitting nest starts at `level`: what one loop more
// touches, which counts what stays from iteration to iteration once, times the loops around.
double LinesMoved(const StoreView& s, const AccessView& a, size_t level) {
  if (InRegisters(a)) return 0;
  if (level == 0) return a.footprint[0].lines;
  double times = 1;
  for (size_t l = 0; l + 1 < level; ++l) times *= static_cast<double>(s.loops[l].extent);
  return a.footprint[level - 1].lines * times;
}

struct Body {
  size_t first = 0;  // loops from here on are unrolled or vector
  int vector = -1;
};

Body FindBody(const StoreView& s) {
  Body body;
  body.first = s.loops.size();
  while (body.first > 0) {
    Bind bind = s.loops[body.first - 1].bind;
    if (bind != Bind::kUnroll && bind != Bind::kVector) break;
    --body.first;
    if (bind == Bind::kVector) body.vector = static_cast<int>(body.first);
  }
  return body;
}

// Different vectors of an access in one body, of those loops that move it.
double VectorsOf(const StoreView& s, const AccessView& a, const Body& body) {
  double n = 1;
  for (size_t l = body.first; l < s.loops.size(); ++l) {
    if (static_cast<int>(l) != body.vector && a.stride[l] != 0) {
      n *= static_cast<double>(s.loops[l].extent);
    }
  }
  return n;
}

// The same where neighbours overlap, as the windows of a convolution do: the generator loads
// each address once.
double DistinctVectorsOf(const StoreView& s, const AccessView& a, const Body& body) {
  double elements = a.footprint[body.first].elements;
  bool along = body.vector >= 0 && a.stride[body.vector] != 0;
  if (along) elements /= static_cast<double>(s.loops[body.vector].extent);
  return std::clamp(std::ceil(elements), 1.0, VectorsOf(s, a, body));
}

// Four neighbours of what a vector gathers come by one load, where a loop beside it runs along
// them.
bool LoadsBlocks(const StoreView& s, const AccessView& a, const Body& body) {
  if (a.write || a.element_bytes != 4) return false;
  for (size_t l = body.first; l < s.loops.size(); ++l) {
    if (static_cast<int>(l) != body.vector && a.stride[l] == 1 && s.loops[l].extent % 4 == 0) {
      return true;
    }
  }
  return false;
}

// Stores of as many vectors as their lanes are apart are woven into whole ones.
bool WeavesStores(const StoreView& s, const AccessView& a, const Body& body) {
  if (!a.write || a.read || a.predicated || a.element_bytes != 4 || body.vector < 0) return false;
  const double apart = a.stride[body.vector];
  for (size_t l = body.first; l < s.loops.size() && apart <= 4; ++l) {
    if (static_cast<int>(l) == body.vector || a.stride[l] != 1) continue;
    return static_cast<double>(s.loops[l].extent) == apart;
  }
  return false;
}

// Registers that hold an operand. Within a step of the accumulation, tile loops run outer to
// inner: what an outer one does not move lives through the inner ones that move it. What several
// steps of the body use lives from one to the next: all that the loops inside the step's load.
double LiveVectorsOf(const StoreView& s, const AccessView& a, const Body& body, bool overlaps) {
  const AccessView& result = s.accesses[0];
  for (size_t l = body.first; overlaps && l < s.loops.size(); ++l) {
    if (static_cast<int>(l) == body.vector || result.stride[l] != 0 || a.stride[l] == 0) continue;
    const double apart = static_cast<double>(s.loops[l].extent) * a.footprint[l + 1].elements;
    if (a.footprint[l].elements >= apart) continue;
    double until = 1;  // so many steps later it is used again
    for (size_t t = l + 1; t < s.loops.size(); ++t) {
      const double times = std::abs(a.stride[t] / a.stride[l]);
      if (static_cast<int>(t) != body.vector && times == std::floor(times) &&
          times < static_cast<double>(s.loops[l].extent)) {
        until = std::max(until, times);
      }
    }
    const bool along = body.vector >= 0 && a.stride[body.vector] != 0;
    return std::min(a.footprint[l].elements, a.footprint[l + 1].elements * until) /
           (along ? static_cast<double>(s.loops[body.vector].extent) : 1);
  }
  double inside = 1, moved = 1;
  bool kept = false;
  for (size_t l = body.first; l < s.loops.size(); ++l) {
    if (static_cast<int>(l) == body.vector || result.stride[l] == 0) continue;
    auto extent = static_cast<double>(s.loops[l].extent);
    if (a.stride[l] == 0) {
      kept |= extent > 1;
    } else {
      moved *= extent;
      if (kept) inside *= extent;
    }
  }
  return overlaps ? moved : inside;
}

void EstimateBody(const StoreView& s, const Target& target, const Body& body, StoreEstimate* e) {
  for (size_t l = body.first; l < s.loops.size(); ++l) {
    double extent = static_cast<double>(s.loops[l].extent);
    (static_cast<int>(l) == body.vector ? e->lanes : e->unroll) *= extent;
  }
  // A vector longer than the machine's takes several instructions.
  double width = 1;
  if (body.vector >= 0) {
    int bytes = 4;
    for (const AccessView& a : s.accesses) bytes = std::max(bytes, a.element_bytes);
    width = std::max(1.0, e->lanes * bytes * 8 / target.vector_bits);
  }
  bool register_result = InRegisters(s.accesses[0]);
  double scattered = 0;
  for (const AccessView& a : s.accesses) {
    double asked = VectorsOf(s, a, body);
    double distinct = DistinctVectorsOf(s, a, body);
    double vectors = (InRegisters(a) ? asked : distinct) * width;
    double along = body.vector >= 0 ? std::abs(a.stride[body.vector]) : 1;
    if (InRegisters(a)) {
      if (&a == &s.accesses[0]) e->result_vectors = vectors;
      continue;
    }
    bool gather = along != 0 && along != 1;
    if (gather && WeavesStores(s, a, body)) gather = false;
    double instructions = gather ? vectors * e->lanes : vectors;
    if (gather && LoadsBlocks(s, a, body)) instructions /= 4;
    if (a.read) e->body_loads += instructions;
    if (a.write) e->body_stores += instructions;
    if (gather) {
      e->body_gathers += vectors;
      scattered += instructions;
    }
    if (a.read && !a.write) {
      e->operand_vectors += LiveVectorsOf(s, a, body, distinct < asked) * width;
    }
  }
  const Operations& ops = s.operations;
  double repeat = e->unroll * width;
  double simple = ops.fused + ops.add + ops.multiply + ops.compare + ops.cast + 0.5 * ops.integer;
  e->body_operations = repeat * simple;
  double slow = repeat * (ops.divide * 8 + ops.call * kCallCycles);
  // Elements of the result advance side by side; steps of the same one wait for each other.
  double steps = s.reduces ? e->unroll / VectorsOf(s, s.accesses[0], body) : 1;
  double spilled = 0;
  if (register_result) {
    double need = e->result_vectors + e->operand_vectors + 1;
    spilled = std::max(0.0, need - target.vector_registers) * steps;
  }
  double loads = e->body_loads + 2 * spilled;
  double stores = e->body_stores + spilled;
  double guards = s.guards * (target.masked_vectors ? 0.5 : 4.0) * repeat;
  double issue = (e->body_operations + 0.5 * loads + stores + 2 * scattered + guards) / kIssueWidth;
  double arithmetic = e->body_operations / kFmaPerCycle, loading = loads / kLoadsPerCycle;
  double cycles = std::max({arithmetic, loading, stores / kStoresPerCycle, issue}) +
                  kConflict * std::min(arithmetic, loading);
  if (s.reduces) {
    e->latency_cycles = steps * kFmaLatency;
    if (!register_result) e->latency_cycles *= 2;
    cycles = std::max(cycles, e->latency_cycles);
  }
  e->body_cycles = cycles + slow + guards * 0.25 + scattered * 0.5;
}

}  // namespace

StoreEstimate EstimateStore(const StoreView& s, const Target& target, int threads) {
  StoreEstimate e;
  Body body = FindBody(s);
  EstimateBody(s, target, body, &e);
  double trips = 1, entries = 1;
  for (size_t l = 0; l < body.first; ++l) {
    double extent = static_cast<double>(s.loops[l].extent);
    if (l + 1 < body.first) entries *= extent;
    trips *= extent;
    if (s.loops[l].bind == Bind::kParallel) e.parallel *= extent;
    // An unrolled loop around a serial one multiplies code, not time.
    if (s.loops[l].bind == Bind::kSerial) e.serial = extent;
  }
  double cycles = trips * (e.body_cycles + kLoopCycles) + entries * kFirstMissCycles;

  size_t l1 = FittingLevel(s, kCacheShare * static_cast<double>(target.l1_bytes), target);
  size_t l2 = FittingLevel(s, kCacheShare * static_cast<double>(target.l2_bytes), target);
  size_t l3 = FittingLevel(s, kSharedCacheShare * static_cast<double>(target.l3_bytes), target);
  e.inside_l1 = IterationsInside(s, l1);
  e.inside_l2 = IterationsInside(s, l2);
  double into_l1 = 0, into_l2 = 0, into_l3 = 0;
  for (const AccessView& a : s.accesses) {
    // A written line travels both ways.
    double ways = a.write && !InRegisters(a) ? 1.5 : 1;
    std::array<double, 3> lines = {LinesMoved(s, a, l1) * ways,
                                   l2 == 0 ? 0 : LinesMoved(s, a, l2) * ways,
                                   l3 == 0 ? 0 : LinesMoved(s, a, l3) * ways};
    into_l1 += lines[0];
    into_l2 += lines[1];
    into_l3 += lines[2];
    e.traffic.push_back(lines);
  }
  double line = target.line_bytes;
  double workers = 1, shared = 1;
  if (e.parallel > 1 && threads > 1) {
    double rounds = std::ceil(e.parallel / threads);
    workers = e.parallel / rounds;
    shared = std::min(workers, 2.0);  // cores share what lies behind L2
  }
  e.compute_us = cycles / kCyclesPerUs / workers;
  e.l2_us = into_l1 * line / kL2BytesPerUs / workers;
  e.l3_us = into_l2 * line / kL3BytesPerUs / shared;
  e.memory_us = into_l3 * line / kMemoryBytesPerUs / shared;
  double most = std::max({e.compute_us, e.l2_us, e.l3_us, e.memory_us});
  double sum = e.compute_us + e.l2_us + e.l3_us + e.memory_us;
  e.total_us = most + (1 - kHidden) * (sum - most);
  if (e.parallel > 1 && threads > 1) e.total_us += kParallelStartUs;
  return e;
}

}  // namespace temper::costmodel
