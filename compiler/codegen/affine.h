// Index expressions as sums of terms: constant + sum of coefficient * atom.
//
// An atom is a variable or any scalar integer expression that is no sum of others (a quotient, a
// minimum, a load). Code generation places each term as far out as its atom's variables allow, so
// that inner loops are left with displacements.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/tir/expr.h"

namespace temper::codegen {

struct LinearTerm {
  tir::Expr atom;
  int64_t coefficient = 0;  // never 0
};

struct LinearForm {
  int64_t constant = 0;
  std::vector<LinearTerm> terms;  // atoms differ

  bool IsConstant() const { return terms.empty(); }
  // this += other * scale.
  void Add(const LinearForm& other, int64_t scale);
  // Whether they differ by a constant alone.
  bool SameTerms(const LinearForm& other) const;
};

// What a variable stands for: null, or a form that replaces it (a let's value).
using VariableForm = std::function<const LinearForm*(int var_id)>;

// A scalar index as a linear form.
LinearForm Linearize(const tir::Expr& index, const VariableForm& variable);

// An index of one or more lanes as lane 0's form and the step from lane to lane.
// Returns false when the lanes are no arithmetic progression that can be seen.
bool LinearizeLanes(const tir::Expr& index, const VariableForm& variable, LinearForm* first,
                    int64_t* lane_step);

}  // namespace temper::codegen
