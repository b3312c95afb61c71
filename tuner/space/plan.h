// Which stages of a program form a loop nest together, and which are inlined.
//
//   pad -> conv -> bias -> relu        one tile nest: root relu, anchor conv; bias inlined, pad
//                                      inlined or a nest of its own (a choice)
//   pad -> max -> relu                 one tile nest; pad inlined or a copy in its loops
//   max -> exp -> sum -> div           one row nest: root div, the others at its row loop
//   mean along the contiguous axis     one row nest: root the division, rows only
//   vectors, column -> last -> y      one column nest: root y, the others at its loops
//   left -> input, right -> output     a transform nest each: short sums of short sums
//   anything else                      a nest for each stage that is not inlined
#pragma once

#include <vector>

#include "compiler/te/program.h"
#include "tuner/space/analysis.h"

namespace temper::tuner {

enum class NestKind { kTile, kRow, kElementwise, kTransform, kColumn };

struct Nest {
  NestKind kind = NestKind::kElementwise;
  int root = -1;    // the stage whose loops enclose the others'
  int anchor = -1;  // kTile: the reduction; equal to root when a write cache is to be added
  // kTile: the root's axis for each spatial axis of the anchor, -1 for one of extent 1.
  std::vector<int> root_axis;
  // kRow: stages computed at the root's row loop, in program order (none: the root itself is a
  // reduction that is split); kTransform: the one stage
  // computed inside the root's outer loops; kColumn: the product of whole vectors, the operand's
  // last column, the sums along it.
  std::vector<int> members;
  // kTile: stages that the anchor alone reads, each element about as often as it is a point of the
  // anchor (row_copy.h): padded operands of depthwise convolutions and pools.
  std::vector<int> copies;
  std::vector<int64_t> fixed_tile;  // kTransform: of each axis of the root (short_sums.h)
  int row_axes = 0;                 // kRow: so many leading axes of the root are rows
  bool may_inline = false;          // kElementwise: whether to have this nest is a choice
};

struct Plan {
  std::vector<Nest> nests;
  std::vector<bool> inlined;  // for each stage: always inlined
};

// `caution` 0 plans as above; 1: no row nest; 2: also no epilogue in a tile nest; 3: also nothing
// inlined. A space falls back to more caution where what it samples cannot be lowered.
inline constexpr int kMaxCaution = 3;
Plan MakePlan(const te::Program& program, const std::vector<StageInfo>& info, int caution = 0);

}  // namespace temper::tuner
