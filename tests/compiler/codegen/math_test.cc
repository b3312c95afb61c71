// How far the emitted functions are from the C library's in double precision.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {
namespace {

using tir::Bind;
using tir::Expr;
using tir::For;
using tir::Intrinsic;
using tir::Ramp;
using tir::Store;

constexpr float kInf = std::numeric_limits<float>::infinity();

// y = f(x) over float32 vectors of `lanes`.
std::vector<float> Apply(Intrinsic f, const std::vector<float>& x, int lanes,
                         const Target& target) {
  FunctionBuilder b;
  auto n = static_cast<int64_t>((x.size() + 15) / 16 * 16);
  int in = b.Param("x", DType::kFloat32, {n}), out = b.Param("y", DType::kFloat32, {n}, true);
  Expr i = b.NewVar("i");
  Expr at = lanes == 1 ? i : Ramp(i * Expr(lanes), 1, lanes);
  auto fn = b.Finish(
      For(i, 0, n / lanes, Bind::kSerial, Store(out, {at}, tir::Call(f, {b.Read(in, {at})}))));
  auto kernel = Kernel::Build(fn, b.outputs(), target);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.status().ToString();
    return {};
  }
  std::vector<float> padded = x, y(n);
  padded.resize(n);
  (*kernel)->Run({padded.data(), y.data()});
  y.resize(x.size());
  return y;
}

// Units in the last place of the true value, a subnormal one counting as the smallest normal's.
double UlpError(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  float rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    return rounded == got ? 0 : std::abs(want) > 3.4028e38 ? 1 : 1e9;
  }
  float above = std::nextafter(std::abs(rounded), kInf);
  double ulp = std::max<double>(above - std::abs(rounded), 0x1p-149);
  return std::abs(static_cast<double>(got) - want) / ulp;
}

std::vector<float> Sweep(float low, float high) {
  std::vector<float> x;
  for (int i = 0; i <= 200000; ++i) {
    x.push_back(static_cast<float>(low + (high - low) * (static_cast<double>(i) / 200000)));
  }
  return x;
}

// Every 997th float of either sign.
std::vector<float> AllMagnitudes() {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < 0x100000000u; bits += 9973) {
    float v = std::bit_cast<float>(static_cast<uint32_t>(bits));
    x.push_back(v);
  }
  for (float v : {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, NAN, 1e-40f, -1e-40f, 88.7f, 88.8f, -87.4f,
                  -103.9f, -104.1f, std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()}) {
    x.push_back(v);
  }
  return x;
}

struct Function {
  Intrinsic intrinsic;
  double (*reference)(double);
  float low, high;
  double bound;  // units in the last place
};

class MathTest : public ::testing::TestWithParam<Function> {};

TEST_P(MathTest, IsCloseToTheTrueValue) {
  const Function& f = GetParam();
  Target host = DetectTarget();
  std::vector<Target> targets = {host};
  for (const char* name : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    Target t = *ParseTarget(name);
    if (CanRunOn(t, host).ok()) targets.push_back(t);
  }
  for (const Target& target : targets) {
    for (int lanes : {1, 4, 8, 16}) {
      for (const auto& x : {Sweep(f.low, f.high), AllMagnitudes()}) {
        std::vector<float> y = Apply(f.intrinsic, x, lanes, target);
        ASSERT_EQ(y.size(), x.size());
        double worst = 0;
        float where = 0;
        for (size_t i = 0; i < x.size(); ++i) {
          double e = UlpError(y[i], f.reference(x[i]));
          if (e > worst) worst = e, where = x[i];
        }
        EXPECT_LE(worst, f.bound) << "at " << where << " on " << target.name << " x" << lanes;
      }
    }
  }
}

double Rsqrt(double x) { return 1 / std::sqrt(x); }
double RoundEven(double x) { return std::nearbyint(x); }

INSTANTIATE_TEST_SUITE_P(Functions, MathTest,
                         ::testing::Values(Function{Intrinsic::kExp, std::exp, -104, 89, 7},
                                           Function{Intrinsic::kLog, std::log, 1e-3f, 100, 2},
                                           Function{Intrinsic::kTanh, std::tanh, -10, 10, 3},
                                           Function{Intrinsic::kErf, std::erf, -5, 5, 3},
                                           Function{Intrinsic::kSqrt, std::sqrt, 0, 100, 0.51},
                                           Function{Intrinsic::kRsqrt, Rsqrt, 0.01f, 100, 1.5},
                                           Function{Intrinsic::kFloor, std::floor, -100, 100, 0},
                                           Function{Intrinsic::kCeil, std::ceil, -100, 100, 0},
                                           Function{Intrinsic::kRoundEven, RoundEven, -100, 100, 0},
                                           Function{Intrinsic::kAbs, std::fabs, -10, 10, 0},
                                           Function{Intrinsic::kSin, std::sin, -10, 10, 1},
                                           Function{Intrinsic::kCos, std::cos, -10, 10, 1},
                                           Function{Intrinsic::kAtan, std::atan, -10, 10, 1},
                                           Function{Intrinsic::kAsinh, std::asinh, -10, 10, 2},
                                           Function{Intrinsic::kAcosh, std::acosh, 1, 10, 2}),
                         [](const auto& info) {
                           return std::string(tir::Name(info.param.intrinsic));
                         });

TEST(MathTest, ExpIsCloserWhereItsResultIsNeitherHugeNorTiny) {
  const std::vector<float> x = Sweep(-44, 44), y = Apply(Intrinsic::kExp, x, 16, DetectTarget());
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(UlpError(y[i], std::exp(static_cast<double>(x[i]))), 4) << x[i];
  }
  EXPECT_EQ(Apply(Intrinsic::kExp, {0, -0.0f}, 16, DetectTarget()), std::vector<float>({1, 1}));
}

TEST(MathTest, ErfOfWholeVectorsStaysWithinOne) {
  for (int lanes : {8, 16}) {
    for (const auto& x : {Sweep(-5, 5), Sweep(-0.001f, 0.001f), AllMagnitudes()}) {
      const std::vector<float> y = Apply(Intrinsic::kErf, x, lanes, DetectTarget());
      ASSERT_EQ(y.size(), x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(std::signbit(y[i]), std::signbit(x[i])) << x[i];
        if (std::isnan(x[i])) continue;
        ASSERT_LE(std::fabs(y[i]), 1) << x[i];
        ASSERT_LE(UlpError(y[i], std::erf(static_cast<double>(x[i]))), 2.06) << x[i];
        ASSERT_TRUE(std::fabs(x[i]) <= 4 || std::fabs(y[i]) == 1) << x[i];
      }
    }
  }
}

TEST(MathTest, ClassesAndTwoArgumentFunctions) {
  FunctionBuilder b;
  int x = b.Param("x", DType::kFloat64, {8}), y = b.Param("y", DType::kFloat64, {8});
  int nan = b.Param("nan", DType::kBool, {8}, true), inf = b.Param("inf", DType::kBool, {8}, true);
  int power = b.Param("power", DType::kFloat64, {8}, true);
  int rest = b.Param("rest", DType::kFloat64, {8}, true);
  Expr at = Ramp(Expr(0), 1, 8);
  Expr vx = b.Read(x, {at}), vy = b.Read(y, {at});
  auto fn = b.Finish(tir::Block({Store(nan, {at}, tir::Call(Intrinsic::kIsNan, {vx})),
                                 Store(inf, {at}, tir::Call(Intrinsic::kIsInf, {vx})),
                                 Store(power, {at}, tir::Call(Intrinsic::kPow, {vx, vy})),
                                 Store(rest, {at}, tir::Call(Intrinsic::kFmod, {vx, vy}))}));
  auto kernel = Kernel::Build(fn, b.outputs(), DetectTarget());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  double dx[8] = {1, -2, NAN, INFINITY, -INFINITY, 0, 5.5, 1e300},
         dy[8] = {3, 2, 1, 2, 3, 2, -2, 2};
  bool is_nan[8], is_inf[8];
  double p[8], r[8];
  (*kernel)->Run({dx, dy, is_nan, is_inf, p, r});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(is_nan[i], std::isnan(dx[i])) << i;
    EXPECT_EQ(is_inf[i], std::isinf(dx[i])) << i;
    EXPECT_EQ(UlpError(static_cast<float>(p[i]), std::pow(dx[i], dy[i])) <= 1, true) << i;
    double want = std::fmod(dx[i], dy[i]);
    EXPECT_TRUE(r[i] == want || (std::isnan(r[i]) && std::isnan(want))) << i;
  }
}

}  // namespace
}  // namespace temper::codegen
