// An estimate of a program's time without any measurement: roofline and cache traffic.
//
// Compute: cycles of one unrolled body by ports (two multiply-adds, two loads, one store a cycle)
// and by latency of the accumulation, times its iterations. Traffic into each cache: the lines
// that the largest loop nest fitting it touches, once for each iteration around.
// Absolute times are rough; what counts is their order within a task.
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
  double unroll = 1;           // bodies of the statement in it, vectors as one
  double lanes = 1;            // of the vector loop
  double serial = 1;           // extent of the innermost serial loop
  double result_vectors = 0;   // registers of the result, if it lies in registers
  double operand_vectors = 0;  // registers of operands that are kept
  double latency_cycles = 0;   // lower bound of the accumulation
  double parallel = 1;         // iterations of the parallel loop
  // Microseconds on the schedule's threads.
  double compute_us = 0, l2_us = 0, l3_us = 0, memory_us = 0, total_us = 0;
  // Per access of the store: lines moved into L1, L2 and L3.
  std::vector<std::array<double, 3>> traffic;
  // Iterations of the loop nest that fits L1 and L2.
  double inside_l1 = 1, inside_l2 = 1;
};

StoreEstimate EstimateStore(const StoreView& store, const Target& target, int threads);

}  // namespace temper::costmodel
