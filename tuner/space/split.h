// Splitting a reduction along the axis that memory runs along, so that vectors can be loaded.
//
//   before  s[i] = sum_k x[i, k]
//   after   s.parts[i, p]       = sum_q x[i, q * U * L + p]       U vectors of L lanes, in
//   registers
//           s.parts.parts[i, l] = sum_u s.parts[i, u * L + l]     one vector
//           s[i]                = sum_l s.parts.parts[i, l]       its lanes
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"
#include "tuner/space/rules.h"

namespace temper::tuner {

// The reduction axis of stage `s` to split; -1 where that gains nothing: an operand that can be
// loaded in vectors along a spatial axis, or that is used more than once, is a tile's work.
int SplitAxis(const te::Program& program, const std::vector<StageInfo>& info, int s);

// Into how many vectors of how many lanes: of `sums` and `lanes`, what fits `extent`.
struct SplitShape {
  int64_t vectors = 1, lanes = 1;
};
SplitShape ShapeOfSplit(int64_t extent, int64_t sums, int64_t lanes);

// The two steps; their targets are `s`.
std::vector<schedule::Step> SplitSteps(const te::Stage& stage, int s, int axis, SplitShape shape);

// Schedules of the two added stages, numbered right before `number`, and the loops of the stage
// itself: `out->stages[number]` has its place and scope, and gets groups and order. `leading`:
// its spatial loops, outermost first, one an axis with its bind.
void EmitSplit(const te::Stage& stage, int axis, SplitShape shape,
               const std::vector<schedule::Bind>& leading, int number, schedule::Schedule* out);

// The vectors of a stage that EmitSplit made, 0 where it did not.
int64_t VectorsOfSplit(const te::Stage& stage, int number, const schedule::Schedule& s);

}  // namespace temper::tuner
