// Tiles whose last one alone is masked.
//
//   before  for t in 0..7: for u in 0..2 unroll: y[32 t + 16 u + v] = ... if 32 t + 16 u + v < 197
//   after   for t in 0..7: if t < 6: both, without conditions
//                          else: y[192 + v] = ... if v < 5; nothing for u = 1
//
// The last tile gets code of its own where whole vectors of it lie past the end, whose sums need
// not be computed, and where masks cost registers and slow stores, as those of AVX2 do.
#pragma once

#include <span>

#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

enum class LastTile {
  kAsOthers,  // no condition tells it from the others
  kMasked,    // a condition that holds in all iterations but the last does not surely hold there
  kNarrower,  // and the last needs some unrolled statements not at all
};

// What the conditions in `body` say of var = 0 .. extent-1. `map`: what variables stand for;
// `bounds`: of those that are free.
LastTile ClassifyLast(const tir::Stmt& body, const tir::Expr& var, int64_t extent,
                      std::span<const tir::Expr> map, const tir::Bounds& bounds);

}  // namespace temper::lower
