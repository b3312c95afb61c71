// Affine forms of index expressions, and simplification with bounds.
//
// An index is written as a constant plus integer multiples of atoms; an atom is a variable or an
// expression that is not affine (a minimum, a quotient, a load). Quotients and remainders by
// constants are split with the bounds of the variables: (a*16 + b) / 16 is a when b is known to
// lie in [0, 16).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compiler/tir/expr.h"

namespace temper::tir {

// Closed interval; the extremes of int64 stand for "not known".
struct Interval {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo = kMin, hi = kMax;

  bool bounded() const { return lo != kMin && hi != kMax; }
};

// What is known of variables, by id.
class Bounds {
 public:
  void Set(int var, Interval interval);
  Interval Get(int var) const;
  // Interval arithmetic over the expression; int64 expressions only.
  Interval Of(const Expr& e) const;

 private:
  std::vector<Interval> known_;
};

struct Affine {
  struct Term {
    Expr atom;
    int64_t coefficient;
  };
  std::vector<Term> terms;  // distinct atoms, in the order in which they were met
  int64_t constant = 0;

  void Add(const Expr& atom, int64_t coefficient);
  void Add(const Affine& other, int64_t factor);
  bool IsConstant() const { return terms.empty(); }
  // 0 where the variable does not occur as an atom of its own.
  int64_t CoefficientOf(int var) const;
  Expr ToExpr() const;
  Interval Of(const Bounds& bounds) const;
};

// Scalar int64 expressions only.
Affine ToAffine(const Expr& e, const Bounds& bounds);

// The value of `e` simplified: affine parts collected, quotients, remainders, minima, maxima and
// comparisons decided by the bounds where they can be. Works inside any expression: every int64
// scalar subexpression and every condition is simplified.
Expr Simplify(const Expr& e, const Bounds& bounds);

}  // namespace temper::tir
