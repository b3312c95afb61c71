#include "worker/runner/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace temper::runner {
namespace {

temper_arg_info Vector(DType dtype, int64_t n) {
  temper_arg_info info{};
  info.dtype = static_cast<int32_t>(dtype);
  info.rank = 1;
  info.shape[0] = n;
  return info;
}

TEST(Compare, AllowsRoundingOfTheSumAndNoMore) {
  // Sums that cancel: the reference is small, its terms are not.
  std::vector<float> reference = {1e-3f, 2, -3, 4}, magnitude = {100, 200, 300, 400};
  auto expected =
      ExpectedOutput::Make(Vector(DType::kFloat32, 4), reference.data(), magnitude.data());
  std::vector<float> output = reference;
  EXPECT_TRUE(expected.Check(output.data()).ok());
  output[0] += 30 * 0x1p-23f * 100;
  EXPECT_TRUE(expected.Check(output.data()).ok());
  output[0] = reference[0] + 40 * 0x1p-23f * 100;
  Status status = expected.Check(output.data());
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("1 of 4"), std::string::npos) << status.message();
}

TEST(Compare, NotANumberIsWrongUnlessItIsDue) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  float inf = std::numeric_limits<float>::infinity();
  std::vector<float> reference = {1, nan, inf}, magnitude = {1, nan, inf};
  auto expected =
      ExpectedOutput::Make(Vector(DType::kFloat32, 3), reference.data(), magnitude.data());
  std::vector<float> output = {1, nan, inf};
  EXPECT_TRUE(expected.Check(output.data()).ok());
  output = {nan, nan, inf};
  EXPECT_FALSE(expected.Check(output.data()).ok());
  output = {1, 2, inf};
  EXPECT_FALSE(expected.Check(output.data()).ok());
  output = {1, nan, -inf};
  EXPECT_FALSE(expected.Check(output.data()).ok());
}

TEST(Compare, AnInfiniteScaleDoesNotAllowEverything) {
  std::vector<float> reference = {1, 2};
  std::vector<float> magnitude = {std::numeric_limits<float>::infinity(), 2};
  auto expected =
      ExpectedOutput::Make(Vector(DType::kFloat32, 2), reference.data(), magnitude.data());
  std::vector<float> output = {1.1f, 2};
  EXPECT_FALSE(expected.Check(output.data()).ok());
}

TEST(Compare, IntegersAreExact) {
  std::vector<int32_t> reference = {1, -2, 1 << 30};
  auto expected =
      ExpectedOutput::Make(Vector(DType::kInt32, 3), reference.data(), reference.data());
  std::vector<int32_t> output = reference;
  EXPECT_TRUE(expected.Check(output.data()).ok());
  output[2] += 1;
  EXPECT_FALSE(expected.Check(output.data()).ok());
}

TEST(Compare, OtherFloatTypesHaveTheirOwnPrecision) {
  std::vector<double> wide = {1, 2};
  auto doubles = ExpectedOutput::Make(Vector(DType::kFloat64, 2), wide.data(), wide.data());
  std::vector<double> output = {1 + 1e-9, 2};
  EXPECT_FALSE(doubles.Check(output.data()).ok());
  std::vector<uint16_t> half = {0x3c00, 0x4000};  // 1, 2
  auto halves = ExpectedOutput::Make(Vector(DType::kFloat16, 2), half.data(), half.data());
  std::vector<uint16_t> other = {0x3c04, 0x4000};
  EXPECT_TRUE(halves.Check(other.data()).ok());
  other[0] = 0x3d00;
  EXPECT_FALSE(halves.Check(other.data()).ok());
  EXPECT_EQ(ElementAt(DType::kFloat16, other.data(), 1), 2);
}

TEST(Compare, TheFloorIsSmall) {
  // A wrong element of a small tensor scale is found even where others are large.
  std::vector<float> reference(1000, 1.0f), magnitude(1000, 1.0f);
  auto expected =
      ExpectedOutput::Make(Vector(DType::kFloat32, 1000), reference.data(), magnitude.data());
  std::vector<float> output = reference;
  output[500] = 1.0f + 5e-6f;
  EXPECT_FALSE(expected.Check(output.data()).ok());
}

}  // namespace
}  // namespace temper::runner
