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
#include <span>
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

// Constants and coefficients are kept modulo 2^64, as int64 arithmetic has them.
struct Affine {
  struct Term {
    Expr atom;
    int64_t coefficient;
  };
  std::vector<Term> terms;  // distinct atoms, in the order in which they were met
  int64_t constant = 0;

  void Add(const Expr& atom, int64_t coefficient);
  void Add(const Affine& other, int64_t factor);
  void Scale(int64_t factor);
  bool IsConstant() const { return terms.empty(); }
  // 0 where the variable does not occur as an atom of its own.
  int64_t CoefficientOf(int var) const;
  Expr ToExpr() const;
  Interval Of(const Bounds& bounds) const;
};

// Scalar int64 expressions only.
Affine ToAffine(const Expr& e, const Bounds& bounds);

// Affine forms and simplification of expressions in which variables stand for others: the results
// are those of Substitute(e, map) below, which is never built. What a condition rules out is not
// looked at, and of nodes that occur more than once those that cost are worked out once. For scalar
// expressions. Borrows `map`, `bounds` and every expression given to it.
class Simplifier {
 public:
  Simplifier(std::span<const Expr> map, const Bounds& bounds) : map_(map), bounds_(bounds) {}

  Affine ToAffine(const Expr& e);
  Expr Simplify(const Expr& e);

 private:
  Affine QuotientOrRemainder(const Expr& e, bool quotient_wanted);
  Affine MinOrMax(const Expr& e);
  Affine OfVar(const Expr& e);
  Expr Comparison(const Expr& e);
  // The expression that stands for a variable; null: none.
  const Expr* Mapped(const Expr& var) const;

  struct Known {
    const ExprNode* node;
    Affine value;
  };
  std::span<const Expr> map_;
  const Bounds& bounds_;
  std::vector<Known> known_;  // quotients, remainders and mapped variables
};

// The value of `e` simplified: affine parts collected, quotients, remainders, minima, maxima and
// comparisons decided by the bounds where they can be. Works inside any expression: every int64
// scalar subexpression and every condition is simplified.
Expr Simplify(const Expr& e, const Bounds& bounds);

}  // namespace temper::tir
