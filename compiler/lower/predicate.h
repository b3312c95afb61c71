// A stage's body where its loops run: axis variables stand for their values, tensors for the
// buffers that hold them, and a load that may be evaluated outside its buffer is predicated.
//
//   select(0 <= i - 1, x[i - 1], 0)   ->   select(1 <= i, x[i - 1] if 1 <= i, 0)
#pragma once

#include <span>

#include "compiler/lower/plan.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// `body` simplified, with `values` for the variables. `overhangs`: the stage's loops may run past
// what the program computes, so that every load may lie outside. REQUIRES: scalar expressions.
tir::Expr BindBody(const tir::Expr& body, std::span<const tir::Expr> values,
                   const std::vector<tir::Buffer>& buffers, const Plan& plan, bool overhangs);

}  // namespace temper::lower
