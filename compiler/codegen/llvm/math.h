// Mathematical functions on float32 and float64 values, scalar or vector.
//
// exp, log, tanh and erf of float32 are polynomials in the emitted code, within 4 units in the
// last place of the true value (exp 7 where it is above 2^64 or below 2^-64), right at infinities,
// NaN, overflow and subnormals. All others, and
// those of float64, are calls of the C library's function lane by lane: a linked object then needs
// libm (see LinkShared).
#pragma once

#include <span>
#include <string_view>

#include "compiler/codegen/llvm/ops.h"

namespace temper::codegen {

llvm::Value* EmitMath(llvm::IRBuilderBase& b, const Traits& traits, tir::Intrinsic intrinsic,
                      std::span<llvm::Value* const> args);

// A call of libm's `name` (float64; `name`f for float32) for each lane.
llvm::Value* MathLibrary(llvm::IRBuilderBase& b, std::string_view name,
                         std::span<llvm::Value* const> args);

}  // namespace temper::codegen
