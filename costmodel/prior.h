// An estimate of a program's time without any measurement: roofline and cache traffic.
//
// Compute: cycles of one unrolled body by ports (two multiply-adds, two loads, one store a cycle)
// and by latency of the accumulation, times its iterations, at the clock at which the target's
// peak is two multiply-adds a cycle. Traffic into each cache: the lines that the largest loop nest
// fitting it touches, once for each iteration around, at the rates of the target; all for one
// thread: what the parallel loop moves is shared out, what it does not move each core reads itself,
// from memory too, and what lies behind the second-level cache is shared by them. Lines that
// several threads write (torn_lines.h) are waited for.
//
// A kernel is taken to stand in a model: what it touches first comes from where the model left it.
// Constants were pushed out by other kernels' (in a large model from a megabyte on out of all
// caches, as measurements have it, worker/runner/cold_constants.h), activations were just written.
// Where measurements find constants warm the estimate is the same unless `trust_warm` is set: what
// is good for weights from memory was measured to be good for warm ones too, and the other way
// round not (docs/decisions.md).
//
// A store that is in another page with each body, or every other, waits for it (pages.h).
//
// Padding that is read in place costs conditions: one for each result of a tile and step of its
// window, in the instructions that the arithmetic leaves; few of them are kept in registers. A long
// body takes longer than its instructions say, and rows a power of two apart fill few sets of a
// cache.
//
// What comes from memory is waited for while it comes for the first time, in one of how ever many
// passes over it: a pass takes no less than its lines take one after another, as many at a time as
// the core's window of instructions and a prefetch ahead of it hold. The other passes find it in a
// cache.
//
// A sum that streams constants, as a matrix times a vector does, is slower than the third-level
// cache where no prefetch asks for the lines some kilobytes ahead.
#pragma once

#include <vector>

#include "compiler/target/target.h"
#include "costmodel/access.h"

namespace temper::costmodel {

struct StoreEstimate {
  // Of one body: the innermost unrolled and vector loops.
  double body_cycles = 0;
  double body_operations = 0;  // vector instructions of arithmetic
  double body_loads = 0, body_stores = 0, body_gathers = 0;
  double body_instructions = 0;  // all of these, what is spilled and the loop's own
  double unroll = 1;             // bodies of the statement in it, vectors as one
  double lanes = 1;              // of the vector loop
  double serial = 1;             // extent of the innermost serial loop
  double result_vectors = 0;     // registers of the result, if it lies in registers
  double operand_vectors = 0;    // registers of operands that are kept
  double latency_cycles = 0;     // lower bound of the accumulation
  double parallel = 1;           // iterations of the parallel loop
  // Microseconds on the schedule's threads.
  double compute_us = 0, l2_us = 0, l3_us = 0, memory_us = 0, total_us = 0;
  double torn_us = 0;  // of lines that several threads write: 0 but in EstimateProgram
  // Per access of the store: lines that all threads move into L1, L2 and L3.
  std::vector<std::array<double, 3>> traffic;
  // Iterations of the loop nest that fits L1 and L2.
  double inside_l1 = 1, inside_l2 = 1;
};

// What the prior assumes of every core; a target's rates say the rest.
struct PriorConstants {
  double fma_per_cycle = 2, loads_per_cycle = 2, stores_per_cycle = 1, issue_width = 6;
  double fma_latency = 4;
  double call_cycles = 10;   // of an intrinsic call, a vector
  double woven_cycles = 1;   // of a masked load of every second element, besides its loads
  double conflict = 0.1;     // of the lesser of arithmetic and loads, what is not hidden
  double shown = 0.08;       // of the lesser costs, how much the largest one does not hide
  double window = 400;       // instructions that a core looks ahead of the oldest one
  double memory_ns = 100;    // until a line comes from memory
  double torn_ns = 12;       // of a line that two threads write, while others do too
  double ahead_used = 0.5;   // of the lines that a prefetch is ahead, how many travel
  double near_bytes = 2048;  // a prefetch so far ahead suits the third level
  double far_bytes = 6144;   // and up to so far
  double burst_lines = 24;   // so many at a time, from the third level
  double unasked = 0.02;     // of the third level's time, what is slower without
  double loop_cycles = 0.4;  // of one iteration of a serial loop
  double long_body = 220;    // instructions of a body, more of which take longer by
  double long_cost = 0.03;   // so much
  double condition_instructions = 24;  // of telling whether a window lies in padding
  double kept_conditions = 5;          // answers to that which registers keep
  double cache_share = 0.75;           // of a cache that a nest may fill
  double shared_cache_share = 0.4;     // of one that other cores and programs use too
  double first_miss_cycles = 4;        // of entering a nest: a line from L2
  double written_ways = 1.5;           // of a written line
  double kept_pages = 64;              // whose translations a core keeps
  double page_cycles = 20;             // of storing into another one
  double fork_us = 0.5;                // of a parallel loop, besides two handoffs
  double cold_bytes = 1 << 20;         // constants from so many on come from memory
  double trust_warm = 0;               // above 0: warm ones from the third level
};

StoreEstimate EstimateStore(const StoreView& store, const Target& target, int threads,
                            const PriorConstants& constants = {});

// Microseconds of all stores, one parallel loop's start counted once. Fills `estimates` in order.
double EstimateProgram(const std::vector<StoreView>& stores, const Target& target, int threads,
                       std::vector<StoreEstimate>* estimates, const PriorConstants& constants = {});

}  // namespace temper::costmodel
