// A lowered loop nest as the cost model sees it: one record for each store.
//
// Loops keep their binds. Index expressions are reduced to one coefficient a loop and dimension;
// quotients by constants become fractions, minima of clipped tiles their first operand, so that
// footprints are estimates, good to a line or two.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/constants.h"
#include "compiler/target/target.h"
#include "compiler/tir/stmt.h"

namespace temper::costmodel {

inline constexpr int kMaxLoops = 24;  // deeper loops are ignored
inline constexpr int kMaxDims = 12;

struct LoopView {
  int var = -1;
  int64_t extent = 1;
  tir::Bind bind = tir::Bind::kSerial;
};

// How a store's statement walks one buffer. Accesses of one buffer with the same coefficients
// count once (neighbours of a window share lines).
struct AccessView {
  int buffer = -1;
  bool read = false;
  bool write = false;
  bool predicated = false;
  bool constant = false;    // a parameter that never changes, such as weights
  bool warm = false;        // one that stays in the last-level cache, however large
  double buffer_bytes = 0;  // of the whole buffer
  double ahead_bytes = 0;   // how far ahead of the access a prefetch beside it touches; 0: none
  double start = 0;         // element of the flat buffer that all loops at zero read
  int element_bytes = 4;
  tir::Scope scope = tir::Scope::kParam;
  int dims = 0;
  std::array<std::array<float, kMaxLoops>, kMaxDims> step{};  // [dim][loop]
  std::array<double, kMaxDims> shape{};
  std::array<double, kMaxLoops> stride{};  // elements of the flat buffer, by loop

  // With loops from `level` on running (level == loop count: none).
  struct Footprint {
    double elements = 1;
    double lines = 1;
  };
  std::array<Footprint, kMaxLoops + 1> footprint{};
};

struct Operations {  // of one element, one iteration
  double fused = 0;  // a multiply and an add that belong together
  double add = 0, multiply = 0, divide = 0, compare = 0, cast = 0, call = 0, integer = 0;

  double Sum() const { return fused + add + multiply + divide + compare + cast + call + integer; }
};

struct StoreView {
  std::vector<LoopView> loops;  // outermost first
  std::vector<AccessView> accesses;
  Operations operations;
  // Those of them that vectors do not pay for: conditions whose lanes unrolling settles or that
  // hold for all lanes alike, the share of others that several vectors have in common, and choices
  // between a load and a number, which are the load's mask.
  Operations settled;
  bool reduces = false;  // reads what it writes
  int prefetches = 0;    // of lines, that stand beside it
  int guards = 0;        // conditions around it
  // Where the last tile of an axis has code of its own (lower/tail.h): conditions that are left to
  // decide in an iteration, on average; the share of iterations that are of that tile, and how much
  // of its work is not left out.
  double guarded = 0;
  double last = 0;
  double last_work = 1;
  double iterations = 1;  // product of the extents
};

// Every store of the function in order. `constants`: buffers of the function that never change,
// and where large ones of them are when the kernel starts.
std::vector<StoreView> ViewStores(const tir::Function& function, const Target& target,
                                  std::span<const int> constants = {},
                                  Constants place = Constants::kCold);

}  // namespace temper::costmodel
