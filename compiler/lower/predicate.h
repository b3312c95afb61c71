// Loads that must not happen outside their buffer.
//
//   before  select(0 <= h and h < 56, x[h, c], 0)
//   after   select(0 <= h and h < 56, x[h, c where 0 <= h and h < 56], 0)
//
// Both sides of a select may be evaluated, and a stage that overhangs its domain (a masked tile, a
// region past the border) is evaluated out of it. There a load whose index cannot be shown to stay
// inside its buffer gets the buffer's bounds as its predicate; once loops are unrolled most of
// those are constant.
#pragma once

#include <vector>

#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// `overhangs`: the statement runs outside its stage's domain too.
tir::Expr PredicateLoads(const tir::Expr& body, const std::vector<tir::Buffer>& buffers,
                         const tir::Bounds& bounds, bool overhangs);

}  // namespace temper::lower
