// Index expressions as sums of terms (tir/affine.h), with lets replaced by what they stand for, and
// lane by lane. Code generation places each term as far out as its atom's variables allow, so that
// inner loops are left with displacements.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/tir/affine.h"
#include "compiler/tir/expr.h"

namespace temper::codegen {

using LinearForm = tir::Affine;
using LinearTerm = tir::Affine::Term;

// Whether they differ by a constant alone.
bool SameTerms(const LinearForm& a, const LinearForm& b);

// What a variable stands for: null, or a form that replaces it (a let's value).
using VariableForm = std::function<const LinearForm*(int var_id)>;

// A scalar index as a linear form.
LinearForm Linearize(const tir::Expr& index, const VariableForm& variable);

// An index of one or more lanes as lane 0's form and the step from lane to lane.
// Returns false when the lanes are no arithmetic progression that can be seen.
bool LinearizeLanes(const tir::Expr& index, const VariableForm& variable, LinearForm* first,
                    int64_t* lane_step);

}  // namespace temper::codegen
