// An operand's padded copy in the loops of the reduction that reads it.
//
//   for c: x.pad[34, 48] = rows of x[c] with zeros around them     on the stack
//     for h, w: acc = 0; for kh, kw: acc += x.pad[h + kh, w + kw] * ...; y = acc
//
// A depthwise convolution or a pool whose vectors run along the rows so reads memory once, in
// order, and its windows ask nowhere whether they are inside.
#pragma once

#include "compiler/schedule/schedule.h"
#include "tuner/space/rules.h"

namespace temper::tuner {

// The schedule of stage `s` (its number in the program with steps is the caller's affair), computed
// at `place`: vectors along its contiguous axis, the last one masked, all other loops serial.
schedule::StageSchedule CopySchedule(const RuleContext& context, int s,
                                     const schedule::Place& place);

}  // namespace temper::tuner
