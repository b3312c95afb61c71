// Loops whose last iteration alone is masked.
//
//   before  for t in 0..25: y[8 t + v] = ... if 8 t + v < 197
//   after   for t in 0..25: if t < 24: y[8 t + v] = ...
//                           else: y[192 + v] = ... if v < 5
//
// Where masks cost registers and slow stores, as those of AVX2 do, the last tile gets code of its
// own.
#pragma once

#include <span>

#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// Whether a condition in `body` holds in all iterations var = 0 .. extent-2 and not surely in the
// last. `map`: what variables stand for; `bounds`: of those that are free.
bool OnlyLastIsMasked(const tir::Stmt& body, const tir::Expr& var, int64_t extent,
                      std::span<const tir::Expr> map, const tir::Bounds& bounds);

}  // namespace temper::lower
