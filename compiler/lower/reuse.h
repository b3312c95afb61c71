// Long rows on the stack that lie in the kernel's result instead.
//
//   alloc e[1, 30522]                                   for j: y[r, j] = exp(x[r, j] - top)
//   for j: e[0, j] = exp(x[r, j] - top)            ->   for j: y[r, j] = y[r, j] * scale
//   for j: y[r, j] = e[0, j] * scale
//
// A row that fills a good part of the first cache costs it twice: once on the stack and once in
// the result, whose lines then come while there is little else to do.
#pragma once

#include "compiler/target/target.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// Every buffer on the stack whose elements are read last where elements of a result are stored,
// each by the statement that stores its own, becomes that part of the result. Left alone are small
// ones, those whose rows would lie across lines, and those of a row tile that is moved back inside
// (schedule::Edge::kClip), which threads that meet in it would write at once.
// The function's body so changed.
tir::Stmt ReuseResults(const tir::Function& function, const Target& target);

}  // namespace temper::lower
