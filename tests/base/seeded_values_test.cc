#include "base/seeded_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace temper {
namespace {

TEST(SeededValues, OneElementAgreesWithTheWholeTensor) {
  std::vector<float> values(1000);
  ASSERT_TRUE(FillSeeded(DType::kFloat32, 7, 2, 1000, false, values.data()));
  std::set<float> distinct;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(values[static_cast<size_t>(i)], SeededValue(DType::kFloat32, 7, 2, i));
    EXPECT_NE(values[static_cast<size_t>(i)], 0);
    EXPECT_LT(std::fabs(values[static_cast<size_t>(i)]), 1);
    distinct.insert(values[static_cast<size_t>(i)]);
  }
  EXPECT_GT(distinct.size(), 200u);
}

TEST(SeededValues, DependOnSeedAndArgument) {
  std::vector<float> a(64), b(64), c(64), again(64);
  FillSeeded(DType::kFloat32, 1, 0, 64, false, a.data());
  FillSeeded(DType::kFloat32, 1, 1, 64, false, b.data());
  FillSeeded(DType::kFloat32, 2, 0, 64, false, c.data());
  FillSeeded(DType::kFloat32, 1, 0, 64, false, again.data());
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
}

TEST(SeededValues, AbsoluteValuesAreThoseOfTheSameTensor) {
  std::vector<float> a(64), b(64);
  FillSeeded(DType::kFloat32, 1, 0, 64, false, a.data());
  FillSeeded(DType::kFloat32, 1, 0, 64, true, b.data());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(std::fabs(a[i]), b[i]);
}

TEST(SeededValues, NarrowTypesHoldTheSameNumbersAsFloat32) {
  std::vector<float> wide(64);
  std::vector<uint16_t> half(64), brain(64);
  FillSeeded(DType::kFloat32, 3, 0, 64, false, wide.data());
  FillSeeded(DType::kFloat16, 3, 0, 64, false, half.data());
  FillSeeded(DType::kBFloat16, 3, 0, 64, false, brain.data());
  for (size_t i = 0; i < 64; ++i) {
    uint16_t h = half[i];
    double value = std::ldexp(1024 + (h & 1023), ((h >> 10) & 31) - 25);
    EXPECT_EQ((h & 0x8000) != 0 ? -value : value, wide[i]);
    uint16_t b = brain[i];
    value = std::ldexp(128 + (b & 127), ((b >> 7) & 255) - 134);
    EXPECT_EQ((b & 0x8000) != 0 ? -value : value, wide[i]);
  }
}

TEST(SeededValues, IntegersAreSmallAndOfTheirType) {
  std::vector<int8_t> i8(500);
  std::vector<uint8_t> boolean(500);
  FillSeeded(DType::kInt8, 3, 0, 500, false, i8.data());
  FillSeeded(DType::kBool, 3, 0, 500, false, boolean.data());
  for (int v : i8) EXPECT_LE(std::abs(v), 8);
  for (int v : boolean) EXPECT_LE(v, 1);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(i8[static_cast<size_t>(i)], SeededValue(DType::kInt8, 3, 0, i));
  }
  float unused = 0;
  EXPECT_FALSE(FillSeeded(DType::kFloat8E5M2, 1, 0, 1, false, &unused));
}

}  // namespace
}  // namespace temper
