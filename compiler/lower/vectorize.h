// One vector loop into vector statements.
#pragma once

#include "base/status.h"
#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// The statement `body`, run for var = 0 .. lanes-1 at once. A condition on `var` becomes the
// predicate of the stores and of the loads from memory that others may touch. A store whose place
// `var` does not move is a reduction: its lanes are combined. FAILED_PRECONDITION where that store
// is not one combination of what was there; INTERNAL where the body holds a loop or a let: a vector
// loop is the innermost one.
Result<tir::Stmt> Vectorize(const tir::Stmt& body, const tir::Expr& var, int lanes,
                            const std::vector<tir::Buffer>& buffers, const tir::Bounds& bounds);

}  // namespace temper::lower
