// A grouped convolution's channels become two axes: the group and the channel in it.
//
//   before  x[56, 56, 240], y[56, 56, 120]:  y[i, j, c] = sum_k x[i, j, c / 40 * 80 + k] * w[c, k]
//   after   x[56, 56, 3, 80], y[56, 56, 3, 40]:
//           y[i, j, g, r] = sum_k x[i, j, g, k] * w[g, r, k]
//
// The memory stays what it was. Without quotients a schedule sees which channels share operands:
// vectors run along the channels of a group, and what a group reads is loaded once for all of them.
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// REQUIRES: Verify(program) is OK. Programs without groups of several channels on both sides come
// back as they are, as do those in which something else reads such channels in another way.
Program SplitGroups(const Program& program);

}  // namespace temper::te
