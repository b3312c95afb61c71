// The builders fold constants as the interpreter computes them.
#include <gtest/gtest.h>

#include <limits>

#include "compiler/tir/expr.h"
#include "compiler/tir/verify.h"

namespace temper::tir {
namespace {

Expr I(DType dtype, int64_t value) { return IntImm({dtype, 1}, value); }

TEST(FoldTest, ImmediatesWrapInTheirType) {
  EXPECT_TRUE((I(DType::kInt8, 127) + I(DType::kInt8, 1))->IsInt(-128));
  EXPECT_TRUE((I(DType::kUInt8, 1) - I(DType::kUInt8, 2))->IsInt(255));
  EXPECT_TRUE((I(DType::kInt16, 300) * I(DType::kInt16, 300))->IsInt(24464));
  EXPECT_TRUE(VerifyExpr(I(DType::kInt8, 1000)).ok());
}

TEST(FoldTest, TheLowestIntegerIsNoTrap) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE((Index(lowest) - Index(1))->IsInt(std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(FloorDiv(Index(lowest), Index(-1))->IsInt(lowest));
  EXPECT_TRUE(FloorMod(Index(lowest), Index(-1))->IsInt(0));
  EXPECT_TRUE(FloorDiv(Index(-7), Index(2))->IsInt(-4));
  EXPECT_TRUE(FloorMod(Index(-7), Index(2))->IsInt(1));
}

TEST(FoldTest, LargeUnsignedNumbersAreNotComparedAsSigned) {
  Expr large = I(DType::kUInt64, -1), one = I(DType::kUInt64, 1);
  EXPECT_EQ(Max(large, one)->kind(), ExprKind::kMax);
  EXPECT_EQ(FloorDiv(large, I(DType::kUInt64, 2))->kind(), ExprKind::kFloorDiv);
  EXPECT_TRUE(Max(one, I(DType::kUInt64, 3))->IsInt(3));
}

}  // namespace
}  // namespace temper::tir
