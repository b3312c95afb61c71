// A huge reduction of which there are few results, in blocks that threads can share.
//
//   before  s[i]        = sum_k x[i, k]
//   after   s.blocks[i, b] = sum_q x[i, b * Q + q]      Q steps a block, one after another in
//   memory
//           s[i]           = sum_b s.blocks[i, b]
#pragma once

#include "compiler/te/program.h"

namespace temper::te {

// Whether some stage of the program is such a reduction: at most 64 results of 65,536 and more
// elements each. Not of 64-bit integers, which carry positions.
bool HasBlocks(const Program& program);

// The first such stage in blocks, 64 at most.
Result<Program> MakeBlocks(const Program& program);

}  // namespace temper::te
