// Casts to and from float8: every value, and numbers around every rounding point.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/narrow_float.h"
#include "compiler/target/target.h"
#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {
namespace {

using tir::Bind;
using tir::Expr;

constexpr int kLanes = 16;

// out[i] = cast(in[i]).
std::unique_ptr<Kernel> CastKernel(DType from, DType to, int64_t count) {
  FunctionBuilder f;
  const int in = f.Param("in", from, {count}), out = f.Param("out", to, {count}, true);
  const Expr i = f.NewVar("i");
  const Expr at = tir::Ramp(i * Expr(kLanes), 1, kLanes);
  auto fn = f.Finish(tir::For(i, 0, count / kLanes, Bind::kSerial,
                              tir::Store(out, {at}, tir::Cast(to, f.Read(in, {at})))));
  auto kernel = Kernel::Build(fn, f.outputs(), DetectTarget());
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  return kernel.ok() ? *std::move(kernel) : nullptr;
}

class Float8Test : public ::testing::TestWithParam<DType> {};

TEST_P(Float8Test, EveryValueWidens) {
  const auto kernel = CastKernel(GetParam(), DType::kFloat32, 256);
  ASSERT_NE(kernel, nullptr);
  std::vector<uint8_t> in(256);
  for (int i = 0; i < 256; ++i) in[i] = static_cast<uint8_t>(i);
  std::vector<float> out(256);
  ASSERT_EQ(kernel->Run({in.data(), out.data()}), 0);
  for (uint32_t i = 0; i < 256; ++i) {
    const double expected = DecodeNarrow(GetParam(), i);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(out[i])) << i;
    } else {
      EXPECT_EQ(out[i], expected) << i;
      EXPECT_EQ(std::signbit(out[i]), std::signbit(expected)) << i;
    }
  }
}

TEST_P(Float8Test, NumbersRoundToEvenAndSaturate) {
  // Each value, the midpoint to the next one, and the numbers right beside both.
  std::vector<float> in;
  const auto add = [&](float x) {
    for (float y : {x, std::nextafter(x, 1e30f), std::nextafter(x, -1e30f)}) in.push_back(y);
  };
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double value = DecodeNarrow(GetParam(), bits), next = DecodeNarrow(GetParam(), bits + 1);
    if (!std::isfinite(value)) continue;
    add(static_cast<float>(value));
    if (bits % 128 != 127 && std::isfinite(next)) add(static_cast<float>((value + next) / 2));
  }
  for (float x : {0.0f, 1e-20f, 1e-40f, 464.0f, 480.0f, 248.0f, 61440.0f, 65536.0f, 1e30f,
                  std::numeric_limits<float>::infinity(), std::nanf("")}) {
    in.push_back(x);
    in.push_back(-x);
  }
  while (in.size() % kLanes != 0) in.push_back(1);
  const auto kernel = CastKernel(DType::kFloat32, GetParam(), static_cast<int64_t>(in.size()));
  ASSERT_NE(kernel, nullptr);
  std::vector<uint8_t> out(in.size());
  ASSERT_EQ(kernel->Run({in.data(), out.data()}), 0);
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(out[i], EncodeNarrow(GetParam(), in[i])) << in[i];
  }
}

// Such code once called a function of the compiler's library, which no model is linked with.
TEST(NarrowCastTest, Float64NeedsNoLibrary) {
  for (DType to : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E5M2}) {
    const auto kernel = CastKernel(DType::kFloat64, to, kLanes);
    ASSERT_NE(kernel, nullptr) << Name(to);
    const std::vector<double> in(kLanes, 1.5);
    std::vector<uint16_t> out(kLanes);
    ASSERT_EQ(kernel->Run({const_cast<double*>(in.data()), out.data()}), 0);
    const auto* bytes = reinterpret_cast<const uint8_t*>(out.data());
    EXPECT_EQ(ByteSize(to) == 2 ? out[kLanes - 1] : bytes[kLanes - 1], EncodeNarrow(to, 1.5));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Float8Test,
                         ::testing::Values(DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                                           DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace temper::codegen
