// How the elements of a register-scoped buffer become values without an address.
//
// Every access to such a buffer has a constant offset once its loops are unrolled. The accesses
// are merged into slots: a slot is a range of elements that is one SSA value, as wide as the
// widest access in it. An access is the whole slot or a part of it. A buffer with an index that
// is not constant, or with accesses that overlap without one holding the other, has no slots: it
// is demoted to memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/tir/stmt.h"

namespace temper::codegen {

struct RegisterBuffer {
  bool in_memory = false;        // demoted
  std::map<int64_t, int> slots;  // first element -> lanes; disjoint

  // The slot that holds [offset, offset + lanes): its first element. REQUIRES: !in_memory and
  // that the access is one of the function's.
  int64_t SlotOf(int64_t offset) const { return std::prev(slots.upper_bound(offset))->first; }
};

// For each buffer of the function; entries of other scopes are empty.
std::vector<RegisterBuffer> PlanRegisters(const tir::Function& function);

}  // namespace temper::codegen
