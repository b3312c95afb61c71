// Numbers of a row, computed once in front of the innermost loop over it.
//
//   for j: y[j] = (x[j] - mean[r]) * inverse[r]
//   ->  let m = mean[r]: let i = inverse[r]: for j: y[j] = (x[j] - m) * i
//
// Behind the loop IR nothing does this: a store to a parameter might change what is on the stack,
// as far as LLVM can tell.
#pragma once

#include "compiler/tir/stmt.h"

namespace temper::lower {

// Scalar floating-point expressions that load from buffers on the stack which the loop does not
// write, and that depend on nothing in it, become variables in front of innermost serial loops, the
// first few of each; those that depend on the loop's variable and are read several times become
// variables in it. Conditions, and what is only read under one, stay.
tir::Function HoistScalars(tir::Function function);

}  // namespace temper::lower
