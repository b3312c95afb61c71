// The zeros around an output.
//
//   before  out has the shape [56, 56, 64] and a halo of one row and column
//   after   loops that store zeros to rows -1 and 56 and to columns -1 and 56 of the other rows
#pragma once

#include "compiler/lower/plan.h"

namespace temper::lower {

// Statements that fill the halo of `buffer` (number `id` of the function); null without a halo.
tir::Stmt FillHalo(const tir::Buffer& buffer, int id, int lanes, Plan& plan);

}  // namespace temper::lower
