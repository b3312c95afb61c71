// Loops that are joined with the loops before them whose results they read.
//
//   for r: for j: for u unroll: vector v: e[r, j*64 + u*16 + v] = exp(x[..] - top[r])
//   for r: s[r] = 0; for j: for u unroll: vector v: s.parts[u*16 + v] += e[r, j*64 + u*16 + v]
//
// becomes one nest in which each vector of e is added while it still is in a register, and the
// processor has the sums to do while it waits for the exponentials.
#pragma once

#include "compiler/tir/stmt.h"

namespace temper::lower {

// A perfect nest that stores one buffer on the stack moves into the next statement beside it that
// reads the buffer, where the loops of the two have the same extents and binds, each element is
// read in the iteration that wrote it, and nothing in between or around changes what the nest
// reads. Vectors go through a buffer in registers, since what a masked store wrote cannot be loaded
// at once. What lies around those loops stays as it is: in particular two nests that a reduction
// over a row lies between do not join, so that many rows may wait for their reductions at once.
tir::Function JoinLoops(tir::Function function);

}  // namespace temper::lower
