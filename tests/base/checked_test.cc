#include "base/checked.h"

#include <gtest/gtest.h>

#include <vector>

namespace temper {
namespace {

std::optional<int64_t> Product(std::vector<int64_t> factors) { return CheckedProduct(factors); }

TEST(Checked, ReportsOverflow) {
  EXPECT_EQ(CheckedAdd<int64_t>(INT64_MAX, 0), INT64_MAX);
  EXPECT_EQ(CheckedAdd<int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(CheckedMul<uint64_t>(uint64_t{1} << 32, (uint64_t{1} << 32) - 1),
            (uint64_t{1} << 32) * ((uint64_t{1} << 32) - 1));
  EXPECT_EQ(CheckedMul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
}

TEST(Checked, ProductOfDimensions) {
  EXPECT_EQ(Product({}), 1);
  EXPECT_EQ(Product({2, 3, 4}), 24);
  EXPECT_EQ(Product({int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
  EXPECT_EQ(Product({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_EQ(Product({2, -1}), std::nullopt);
  EXPECT_EQ(Product({0, -1}), std::nullopt);
}

}  // namespace
}  // namespace temper
