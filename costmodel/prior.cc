#include "costmodel/prior.h"

#include <algorithm>
#include <cmath>

#include "costmodel/pages.h"
#include "costmodel/per_thread.h"
#include "costmodel/torn_lines.h"

namespace temper::costmodel {
namespace {

using tir::Bind;
using tir::Scope;

double IterationsInside(const StoreView& s, size_t level) {
  double n = 1;
  for (size_t l = level; l < s.loops.size(); ++l) n *= static_cast<double>(s.loops[l].extent);
  return n;
}

// Where a buffer's bytes are when the kernel starts.
Level Before(const AccessView& a, const Target& target, double workers,
             const PriorConstants& constants) {
  if (a.constant) {
    const bool warm = a.warm && constants.trust_warm > 0;
    return !warm && a.buffer_bytes >= constants.cold_bytes ? Level::kMemory : Level::kL3;
  }
  if (a.buffer_bytes <= 0.5 * static_cast<double>(target.l2_bytes) * workers) return Level::kL2;
  bool shared = a.buffer_bytes <= 0.5 * static_cast<double>(target.l3_bytes);
  return shared ? Level::kL3 : Level::kMemory;
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
// each address once. Vectors that only share lanes are different ones.
double DistinctVectorsOf(const StoreView& s, const AccessView& a, const Body& body) {
  double distinct = 1;
  for (int d = 0; d < a.dims; ++d) {
    double points = 1, last = 0;
    for (size_t l = body.first; l < s.loops.size(); ++l) {
      if (static_cast<int>(l) == body.vector || a.step[d][l] == 0) continue;
      points *= static_cast<double>(s.loops[l].extent);
      last += std::abs(a.step[d][l]) * static_cast<double>(s.loops[l].extent - 1);
    }
    distinct *= std::min(points, std::floor(last) + 1);
  }
  return std::clamp(distinct, 1.0, VectorsOf(s, a, body));
}

// How many lines a load of neighbours touches where rows or windows begin anywhere in one.
double LinesOfLoad(const StoreView& s, const AccessView& a, const Body& body,
                   const Target& target) {
  if (body.vector < 0 || !a.read) return 1;
  const double along = std::abs(a.stride[body.vector]);
  if (along != 1 && along != 2) return 1;
  const auto lanes = static_cast<double>(s.loops[body.vector].extent);
  for (size_t l = 0; l < s.loops.size(); ++l) {
    if (static_cast<int>(l) == body.vector || std::fmod(a.stride[l], lanes) == 0) continue;
    const double bytes = std::min(lanes * a.element_bytes, static_cast<double>(target.line_bytes));
    return 1 + (bytes - a.element_bytes) / static_cast<double>(target.line_bytes);
  }
  return 1;
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

// Every second element and those between come by the same loads.
bool LoadsPairs(const StoreView& s, const AccessView& a, const Body& body) {
  for (size_t l = body.first; l < s.loops.size(); ++l) {
    if (static_cast<int>(l) != body.vector && a.stride[l] == 1 && s.loops[l].extent % 2 == 0) {
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

// Lines of an access that one body touches where they drive each other out of the first level: rows
// a multiple of a page apart share a set, as those of a matrix of 1024 columns do.
double Aliased(const StoreView& s, const AccessView& a, const Body& body, const Target& target) {
  return Crowded(s, a, body.first, target, body.vector) ? a.footprint[body.first].lines : 0;
}

void EstimateBody(const StoreView& s, const Target& target, const PriorConstants& c,
                  const Body& body, StoreEstimate* e) {
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
  double scattered = 0, shuffled = 0, woven = 0;
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
    // Every second element comes by two loads of neighbours, or one of a line, and a shuffle.
    const bool second = gather && along == 2 && !a.write;
    const bool pairs = second && LoadsPairs(s, a, body);
    const bool two = second && !pairs && 2 * e->lanes * a.element_bytes > target.line_bytes;
    if (second) {
      gather = false;
      shuffled += vectors;
      if (s.settled.compare > 0) woven += pairs ? vectors / 2 : vectors;
    }
    double instructions = gather ? vectors * e->lanes : two ? 2 * vectors : vectors;
    if (gather && LoadsBlocks(s, a, body)) instructions /= 4;
    if (a.read) e->body_loads += instructions * LinesOfLoad(s, a, body, target);
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
  double simple = ops.fused + ops.add + ops.multiply + ops.compare - s.settled.compare + ops.cast +
                  0.5 * (ops.integer - s.settled.integer);
  e->body_operations = repeat * simple + shuffled;
  // Masks of every second lane are woven from others, and a shuffle takes a copy of its indices;
  // which phase of a row a tap is in is known once for all lanes.
  const double quotients = ops.divide - (shuffled > 0 ? s.settled.divide : 0);
  double slow = woven * c.woven_cycles + repeat * (quotients * 8 + ops.call * c.call_cycles);
  // Elements of the result advance side by side; steps of the same one wait for each other.
  double steps = s.reduces ? e->unroll / VectorsOf(s, s.accesses[0], body) : 1;
  double spilled = 0;
  if (register_result) {
    // A small register file is used up; of a larger one a register is spare, and a product that is
    // not fused with its sum has one.
    const bool spare = target.vector_registers > 16 || !target.Has("fma");
    double need = e->result_vectors + e->operand_vectors + (spare ? 1 : 0);
    // A mask lies in a register too, unless only a narrower last tile has one.
    if (!target.masked_vectors && s.last_work == 1) {
      need += std::any_of(s.accesses.begin(), s.accesses.end(),
                          [](const AccessView& a) { return a.predicated; });
    }
    spilled = std::max(0.0, need - target.vector_registers) * steps;
  }
  // A prefetch is a load that nothing waits for.
  double loads = e->body_loads + 2 * spilled + s.prefetches;
  double stores = e->body_stores + spilled;
  double guards = s.guarded * (target.masked_vectors ? 0.5 : 4.0) * repeat;
  double issue =
      (e->body_operations + 0.5 * loads + stores + 2 * scattered + guards) / c.issue_width;
  e->body_instructions = e->body_operations + loads + stores + 2 * scattered + guards + 2;
  double arithmetic = e->body_operations / c.fma_per_cycle, loading = loads / c.loads_per_cycle;
  double cycles = std::max({arithmetic, loading, stores / c.stores_per_cycle, issue}) +
                  c.conflict * std::min(arithmetic, loading);
  if (s.reduces) {
    e->latency_cycles = steps * c.fma_latency;
    if (!register_result) e->latency_cycles *= 2;
    cycles = std::max(cycles, e->latency_cycles);
  }
  if (s.reduces && e->body_instructions > c.long_body) cycles *= 1 + c.long_cost;
  e->body_cycles = cycles + slow + guards * 0.25 + scattered * 0.5;
}

// How often it is asked whether a scalar that vectors share lies in padding: once for each step of
// what moves the window, not for each channel under it.
double Conditions(const StoreView& s, const AccessView& a, const Body& body,
                  const PriorConstants& c) {
  if (!a.read || !a.predicated || (body.vector >= 0 && a.stride[body.vector] != 0)) return 0;
  // A sum's loop moves another operand too, a result's this one alone.
  auto sums = [&](size_t l) {
    return std::any_of(s.accesses.begin() + 1, s.accesses.end(), [&](const AccessView& other) {
      return &other != &a && other.stride[l] != 0;
    });
  };
  std::array<bool, kMaxLoops> moves{};
  for (int d = 0; d < a.dims; ++d) {
    bool by_result = false, by_sum = false;
    for (size_t l = 0; l < s.loops.size(); ++l) {
      if (a.step[d][l] == 0 || s.loops[l].extent == 1) continue;
      (sums(l) ? by_sum : by_result) = true;
    }
    for (size_t l = 0; l < s.loops.size() && by_result && by_sum; ++l) {
      moves[l] = moves[l] || a.step[d][l] != 0;
    }
  }
  // Along each dimension the results of a tile have their own; those that do not lie in registers
  // are asked anew.
  double kept = 0;
  for (int d = 0; d < a.dims; ++d) {
    double own = 1;
    bool window = false;
    for (size_t l = 0; l < s.loops.size(); ++l) {
      if (!moves[l] || a.step[d][l] == 0) continue;
      window = true;
      if (l >= body.first && !sums(l)) own *= static_cast<double>(s.loops[l].extent);
    }
    if (window) kept += own;
  }
  double asked = 1, around = 1, often = 1;
  for (size_t l = 0; l < s.loops.size(); ++l) {
    const auto extent = static_cast<double>(s.loops[l].extent);
    if (l >= body.first) {
      if (moves[l] && static_cast<int>(l) != body.vector) asked *= extent;
      continue;
    }
    around *= extent;
    if (moves[l]) often = around;
  }
  return asked * often * (kept <= c.kept_conditions ? 0.25 : 1);
}

// While lines come from memory: the share of a thread's work that is done then, and how long that
// takes for as many lines at a time as are asked for.
struct Waiting {
  double share = 0;
  double us = 0;
};

Waiting WaitForMemory(const StoreView& s, const Body& body, const StoreEstimate& e, double trips,
                      double workers, const Target& target, const PriorConstants& c) {
  Waiting waiting;
  for (size_t i = 0; i < s.accesses.size(); ++i) {
    const AccessView& a = s.accesses[i];
    if (e.traffic[i][2] == 0 || !a.read) continue;
    double a_body = a.footprint[body.first].lines;  // new ones of one body
    if (body.first > 0 && a.stride[body.first - 1] != 0) {
      const auto extent = static_cast<double>(s.loops[body.first - 1].extent);
      a_body = std::min(a_body, a.footprint[body.first - 1].lines / extent);
    }
    waiting.share = std::max(waiting.share, std::min(1.0, e.traffic[i][2] / a_body / trips));
    const double travelling = std::max(1.0, c.window * a_body / e.body_instructions) +
                              c.ahead_used * a.ahead_bytes / target.line_bytes;
    waiting.us = std::max(waiting.us, e.traffic[i][2] / workers * c.memory_ns * 1e-3 / travelling);
  }
  return waiting;
}

// Microseconds by which a sum over a stream of constants is slower than the third level where no
// prefetch asks for them some way ahead; 0 for all others.
double UnaskedStream(const StoreView& s, const Body& body, const StoreEstimate& e,
                     const PriorConstants& c) {
  if (!s.reduces || e.l3_us <= e.compute_us) return 0;
  const auto stream = std::find_if(s.accesses.begin(), s.accesses.end(),
                                   [](const AccessView& a) { return a.constant && a.read; });
  if (stream == s.accesses.end()) return 0;
  // Of a long body's lines, all asked for at its start, the last ones come late. Where they come
  // from memory that is not seen.
  const bool burst =
      stream->warm && c.trust_warm > 0 && stream->footprint[body.first].lines > c.burst_lines;
  const bool asked =
      stream->ahead_bytes >= c.near_bytes && stream->ahead_bytes <= c.far_bytes && !burst;
  return asked ? 0 : c.unasked * e.l3_us;
}

}  // namespace

StoreEstimate EstimateStore(const StoreView& s, const Target& target, int threads,
                            const PriorConstants& c) {
  StoreEstimate e;
  Body body = FindBody(s);
  EstimateBody(s, target, c, body, &e);
  double trips = 1, entries = 1;
  for (size_t l = 0; l < body.first; ++l) {
    double extent = static_cast<double>(s.loops[l].extent);
    if (l + 1 < body.first) entries *= extent;
    trips *= extent;
    if (s.loops[l].bind == Bind::kParallel) e.parallel *= extent;
    // An unrolled loop around a serial one multiplies code, not time.
    if (s.loops[l].bind == Bind::kSerial) e.serial = extent;
  }
  // The fewer sums of a last tile wait for each other as all others do.
  const double last = std::max(e.body_cycles * s.last_work, e.latency_cycles);
  const double body_cycles = (1 - s.last) * e.body_cycles + s.last * last;
  double cycles = trips * (body_cycles + c.loop_cycles) + entries * c.first_miss_cycles;
  if (s.reduces) {
    double conditions = 0;
    for (const AccessView& a : s.accesses) conditions += Conditions(s, a, body, c);
    const double issued = trips * e.body_instructions + conditions * c.condition_instructions;
    cycles += conditions > 0 ? std::max(0.0, issued / c.issue_width - trips * body_cycles) : 0;
  }
  cycles += PagesRevisited(s, c.kept_pages) * c.page_cycles;

  const PerThread nest(s, threads);
  auto capacity = [](double share, int64_t bytes) { return share * static_cast<double>(bytes); };
  const size_t l1 = nest.Fitting(capacity(c.cache_share, target.l1_bytes), target, body.first);
  const size_t l2 = nest.Fitting(capacity(c.cache_share, target.l2_bytes), target);
  const size_t l3 = nest.Fitting(capacity(c.shared_cache_share, target.l3_bytes), target);
  e.inside_l1 = IterationsInside(s, l1);
  e.inside_l2 = IterationsInside(s, l2);
  double into_l1 = 0, into_l2 = 0, into_l3 = 0;
  for (const AccessView& a : s.accesses) {
    // A written line travels both ways.
    const double ways = a.write && !InRegisters(a) ? c.written_ways : 1;
    std::array<double, 3> lines = {nest.Moved(a, l1), l2 == 0 ? 0 : nest.Moved(a, l2),
                                   l3 == 0 ? 0 : nest.Moved(a, l3)};
    if (a.scope == Scope::kParam || a.scope == Scope::kWorkspace) {
      // What is touched for the first time: each thread asks for itself, and none is far enough
      // ahead of the others that they would find it in a cache, shared or not.
      const Level before = Before(a, target, nest.workers, c);
      const double touched = nest.Lines(a, 0) * nest.workers;
      if (before >= Level::kL3) lines[1] = std::max(lines[1], touched);
      if (before >= Level::kMemory) lines[2] = std::max(lines[2], touched);
      lines[0] = std::max(lines[0], trips * Aliased(s, a, body, target));
    }
    for (double& n : lines) n *= ways;
    into_l1 += lines[0];
    into_l2 += lines[1];
    into_l3 += lines[2];
    e.traffic.push_back(lines);
  }
  const Rates rates = RatesOf(target);
  const int busy = static_cast<int>(std::ceil(nest.workers));
  const double line = target.line_bytes;
  // Of all busy cores together; the odd core out leaves them less.
  auto shared_out = [&](double whole) { return whole * nest.workers / busy; };
  const double flops_a_cycle = 2 * c.fma_per_cycle * target.Lanes(4);
  e.compute_us = cycles / shared_out(rates.Gflops(busy) * 1e3 / flops_a_cycle);
  e.l2_us = into_l1 * line / shared_out(rates.Gbytes(Level::kL2, busy) * 1e3);
  e.l3_us = into_l2 * line / shared_out(rates.Gbytes(Level::kL3, busy) * 1e3);
  e.memory_us = into_l3 * line / shared_out(rates.Gbytes(Level::kMemory, busy) * 1e3);
  const double most = std::max({e.compute_us, e.l2_us, e.l3_us});
  const double near_us = most + c.shown * (e.compute_us + e.l2_us + e.l3_us - most);
  // The passes that wait for memory, and the others.
  const Waiting waiting = WaitForMemory(s, body, e, trips, nest.workers, target, c);
  const double first_us = near_us * waiting.share;
  const double slowest = std::max({first_us, e.memory_us, waiting.us});
  e.total_us = near_us - first_us + slowest + c.shown * std::min(first_us, e.memory_us);
  e.total_us += UnaskedStream(s, body, e, c);
  return e;
}

double EstimateProgram(const std::vector<StoreView>& stores, const Target& target, int threads,
                       std::vector<StoreEstimate>* estimates, const PriorConstants& c) {
  double us = 0;
  int started = -1;  // the variable of the parallel loop that runs
  estimates->clear();
  for (const StoreView& s : stores) {
    StoreEstimate e = EstimateStore(s, target, threads, c);
    e.torn_us = TornLines(s, target, threads) * c.torn_ns * 1e-3;
    e.total_us += e.torn_us;
    for (const LoopView& loop : s.loops) {
      if (threads <= 1 || loop.bind != Bind::kParallel || e.parallel <= 1) continue;
      if (loop.var != started) {
        e.total_us += c.fork_us + 2e-3 * RatesOf(target).handoff_ns;
      }
      started = loop.var;
      break;
    }
    us += e.total_us;
    estimates->push_back(std::move(e));
  }
  return us;
}

}  // namespace temper::costmodel
