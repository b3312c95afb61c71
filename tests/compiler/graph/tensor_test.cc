#include "compiler/graph/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace temper::graph {
namespace {

TEST(TensorTest, CountsAreChecked) {
  EXPECT_EQ(ElementCount(Shape{}), 1);
  EXPECT_EQ(ElementCount(Shape{2, 0, 5}), 0);
  EXPECT_FALSE(ElementCount(Shape{-1}).has_value());
  EXPECT_FALSE(ElementCount(Shape{int64_t{1} << 32, int64_t{1} << 32}).has_value());
  EXPECT_FALSE(ElementCount(Shape{int64_t{1} << 62, 0, 4}).has_value());
  EXPECT_EQ(ByteCount(DType::kFloat64, Shape{3}), 24);
}

double RoundTrip(DType dtype, double value) {
  std::byte bytes[8];
  StoreFloat(dtype, value, bytes);
  return LoadFloat(dtype, bytes);
}

// Expected values: numpy's float16 and ml_dtypes' conversions, and the tables of ONNX's page.
TEST(TensorTest, NarrowFloats) {
  EXPECT_EQ(RoundTrip(DType::kFloat16, 1.0 / 3), 0.333251953125);
  EXPECT_EQ(RoundTrip(DType::kFloat16, 65519), 65504);
  EXPECT_TRUE(std::isinf(RoundTrip(DType::kFloat16, 65520)));
  EXPECT_EQ(RoundTrip(DType::kFloat16, 5.960464477539063e-08), 5.960464477539063e-08);
  EXPECT_EQ(RoundTrip(DType::kFloat16, 2.9e-08), 0);
  EXPECT_EQ(RoundTrip(DType::kBFloat16, 1.00390625), 1.0);  // a tie, to even
  EXPECT_EQ(RoundTrip(DType::kBFloat16, 1.01171875), 1.015625);
  EXPECT_EQ(RoundTrip(DType::kFloat8E4M3FN, 1000), 448);
  EXPECT_EQ(RoundTrip(DType::kFloat8E4M3FN, 0.001953125), 0.001953125);
  EXPECT_EQ(RoundTrip(DType::kFloat8E4M3FNUZ, -1000), -240);
  EXPECT_EQ(RoundTrip(DType::kFloat8E5M2, 1e9), 57344);
  EXPECT_EQ(RoundTrip(DType::kFloat8E5M2FNUZ, 1e9), 57344);
  EXPECT_TRUE(std::isnan(RoundTrip(DType::kFloat8E4M3FN, NAN)));
  EXPECT_TRUE(std::isnan(RoundTrip(DType::kFloat8E5M2FNUZ, NAN)));
}

// Every finite bit pattern survives a load and a store.
TEST(TensorTest, NarrowFloatsRoundTripAllBits) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3FN,
                      DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ}) {
    const int bytes = ByteSize(dtype);
    for (uint32_t bits = 0; bits < (1u << (8 * bytes)); ++bits) {
      std::byte in[2] = {static_cast<std::byte>(bits), static_cast<std::byte>(bits >> 8)};
      const float value = LoadFloat(dtype, in);
      if (!std::isfinite(value)) continue;
      std::byte out[2] = {};
      StoreFloat(dtype, value, out);
      ASSERT_EQ(std::memcmp(in, out, bytes), 0) << Name(dtype) << " " << bits;
    }
  }
}

TEST(TensorTest, ConversionsSaturate) {
  const double values[] = {300, -5, 1.5};
  EXPECT_EQ(MakeFromDoubles(DType::kUInt8, {3}, values).AsInts(),
            (std::vector<int64_t>{255, 0, 2}));
  EXPECT_EQ(MakeFromDoubles(DType::kBool, {3}, values).AsInts(), (std::vector<int64_t>{1, 1, 1}));
  const double two = 2;
  EXPECT_TRUE(SameBits(MakeScalar(2), MakeFromDoubles(DType::kFloat32, {}, {&two, 1})));
}

}  // namespace
}  // namespace temper::graph
