// Loads that must not happen where their condition is false.
//
//   before  select(0 <= h and h < 56, x[h, c], 0)
//   after   select(0 <= h and h < 56, x[h, c if 0 <= h and h < 56], 0)
//
// A stage that overhangs its domain (a masked tile, a region past the border) also reads out of
// range; there a load whose index cannot be shown to stay inside gets the bounds as predicate.
#pragma once

#include <vector>

#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// `overhangs`: the statement runs outside its stage's domain too.
tir::Expr PredicateLoads(const tir::Expr& body, const std::vector<tir::Buffer>& buffers,
                         const tir::Bounds& bounds, bool overhangs);

}  // namespace temper::lower
