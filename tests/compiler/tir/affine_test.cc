// Affine forms and comparisons, numbers near the ends of int64 included.
#include "compiler/tir/affine.h"

#include <gtest/gtest.h>

#include <limits>

#include "compiler/tir/expr.h"

namespace temper::tir {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

class AffineTest : public ::testing::Test {
 protected:
  AffineTest() { bounds_.Set(0, {0, 9}); }

  Expr Simplified(const Expr& e) { return Simplifier({}, bounds_).Simplify(e); }

  Bounds bounds_;
  Expr x_ = Var(0, "x");
};

TEST_F(AffineTest, BoundsDecideComparisons) {
  EXPECT_TRUE(Simplified(Lt(x_, Index(10)))->IsInt(1));
  EXPECT_TRUE(Simplified(Lt(x_, Index(0)))->IsInt(0));
  EXPECT_FALSE(Simplified(Lt(x_, Index(9)))->IsInt(1));
}

TEST_F(AffineTest, DifferencesThatWrapDecideNothingWrongly) {
  EXPECT_FALSE(Simplified(Lt(x_, Index(kLowest)))->IsInt(1));
  EXPECT_FALSE(Simplified(Lt(Index(kLowest), x_))->IsInt(0));
  EXPECT_FALSE(Simplified(Lt(x_ * Index(kHighest), Index(kLowest)))->IsInt(1));
  EXPECT_TRUE(Simplified(Lt(Index(kLowest), Index(kHighest)))->IsInt(1));
  Expr least = Simplified(Min(x_, Index(kLowest)));
  EXPECT_EQ(least->kind(), ExprKind::kMin);
}

TEST_F(AffineTest, CoefficientsAreKeptModuloTwoTo64) {
  Affine a = ToAffine((x_ - Index(kLowest)) * Index(2), bounds_);
  ASSERT_EQ(a.terms.size(), 1u);
  EXPECT_EQ(a.terms[0].coefficient, 2);
  EXPECT_EQ(a.constant, 0);
  Affine gone = ToAffine(x_ * Index(int64_t{1} << 32) * Index(int64_t{1} << 32), bounds_);
  EXPECT_TRUE(gone.IsConstant());
  EXPECT_EQ(gone.constant, 0);
}

TEST_F(AffineTest, QuotientsOfTheLowestIntegerAreNoTrap) {
  Affine q = ToAffine(FloorDiv(x_ * Index(7) + Index(kLowest), Index(7)), bounds_);
  EXPECT_FALSE(q.IsConstant());
}

}  // namespace
}  // namespace temper::tir
