// Which loops are cut before their last iteration.
#pragma once

#include <span>

#include "compiler/tir/affine.h"
#include "compiler/tir/stmt.h"

namespace temper::lower {

// Whether `loop`, from `min` over `extent` iterations, is serial, holds no buffers of its own (as
// the loops around a register tile do), and some condition in it is decided in all of its
// iterations but the last: the bound of a row that vectors do not divide. A large body is not
// doubled.
//
// `map` has what outer variables stand for, `bounds` what is known of them (tir::Simplifier).
bool LastDiffers(const tir::Stmt& loop, int64_t min, int64_t extent, std::span<const tir::Expr> map,
                 const tir::Bounds& bounds);

}  // namespace temper::lower
