// Sums over the same rows, taken in one pass over them.
//
//   for r: a[r] = 0; for j: for u unroll: vector v: a.parts[u*16 + v] += x[r, ..]; ..
//   for r: b[r] = 0; for j: for u unroll: vector v: b.parts[u*16 + v] += x[r, ..] * x[r, ..]; ..
//
// becomes one nest, in which each vector of x is loaded once and the two chains of sums hide each
// other's latency.
#pragma once

#include "compiler/target/target.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// Of two statements beside each other that reduce into few registers, read an operand in common and
// have nothing to do with each other's results, the loops of equal extents and binds become one,
// from the outside in; where their shapes part, the one stands behind the other. Whatever stands
// between them must not mind one of the two moving. Nests whose sums fill more than a quarter of
// the register file stay apart: they are tiles.
tir::Function JamReductions(tir::Function function, const Target& target);

}  // namespace temper::lower
