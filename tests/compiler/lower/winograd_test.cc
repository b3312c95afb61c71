#include "compiler/te/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/rng.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/interpret.h"
#include "tests/support/small_programs.h"

namespace temper::lower {
namespace {

TEST(Winograd, ExistsForConvolutionsOfRankFourOnly) {
  EXPECT_TRUE(te::HasWinograd(ConvBatch(1, 8, 8, 4, 6, 1)));
  EXPECT_FALSE(te::HasWinograd(MatmulBiasRelu(4, 4, 4)));
  EXPECT_FALSE(te::HasWinograd(ConvWithHalo(6, 3, 4)));
  EXPECT_EQ(te::AlternativesOf(ConvBatch(1, 8, 8, 4, 6, 1)).size(), 3u);
  EXPECT_EQ(te::MakeAlternative(MatmulBiasRelu(4, 4, 4), 1).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(te::MakeAlternative(ConvBatch(1, 8, 8, 4, 6, 1), 7).status().code(),
            Code::kFailedPrecondition);
}

TEST(Winograd, ExistsAsFarAsNumericsAllows) {
  const te::Program conv = ConvBatch(1, 8, 8, 4, 6, 1);
  EXPECT_EQ(te::AlternativesOf(conv, te::Numerics::kStrict).size(), 1u);
  EXPECT_EQ(te::AlternativesOf(conv, te::Numerics::kBalanced).size(), 2u);
  EXPECT_EQ(te::AlternativesOf(conv, te::Numerics::kFast).size(), 3u);
  for (te::Numerics n : te::kAllNumerics) {
    EXPECT_EQ(te::ParseNumerics(te::Name(n)), n);
    for (te::Alternative a : te::AlternativesOf(conv, n)) {
      EXPECT_LE(te::ErrorBound(static_cast<int>(a)), te::ErrorBound(n));
      EXPECT_LE(te::NumericsOf(static_cast<int>(a)), n);
    }
  }
  EXPECT_FALSE(te::ParseNumerics("precise"));
  EXPECT_FALSE(te::ParseNumerics(""));
}

// G k G^T of each of the kernels, as the constant's transform says it.
std::vector<float> Transformed(const te::Tensor& kernel, const std::vector<float>& k) {
  const te::ConstantTransform& t = kernel.transform;
  const int64_t rows = t.rows, pairs = t.source_shape[0] * t.source_shape[1];
  std::vector<float> u(static_cast<size_t>(rows * rows * pairs));
  for (int64_t a = 0; a < rows; ++a) {
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t oc = 0; oc < pairs; ++oc) {
        double sum = 0;
        for (int64_t i = 0; i < 3; ++i) {
          for (int64_t j = 0; j < 3; ++j) {
            sum += t.matrix[a * 3 + i] * t.matrix[b * 3 + j] * k[(oc * 3 + i) * 3 + j];
          }
        }
        u[static_cast<size_t>((a * rows + b) * pairs + oc)] = static_cast<float>(sum);
      }
    }
  }
  return u;
}

// What --numerics promises, held against the exact sums, in float32 without fused multiply-adds.
TEST(Winograd, StaysWithinTheStatedError) {
  const te::Program conv = ConvBatch(1, 10, 10, 32, 4, 1);
  const te::Tensor& image = conv.tensors[conv.inputs[0]];
  const te::Tensor& kernel = conv.tensors[conv.inputs[1]];
  ASSERT_EQ(kernel.shape.size(), 4u);
  Rng rng(7);
  std::vector<float> x(12 * 12 * 32, 0.0F), k(4 * 32 * 9);
  ASSERT_EQ(image.shape, (std::vector<int64_t>{1, 10, 10, 32}));
  for (size_t row = 1; row <= 10; ++row) {
    for (size_t i = 32; i < 11 * 32; ++i) {
      x[row * 12 * 32 + i] = static_cast<float>(2 * rng.Uniform01() - 1);
    }
  }
  for (float& v : k) v = static_cast<float>(2 * rng.Uniform01() - 1);
  auto absolute = [](std::vector<float> v) {
    for (float& f : v) f = std::abs(f);
    return v;
  };
  const std::vector<float> x_size = absolute(x), k_size = absolute(k);
  auto evaluator = [&](const std::vector<float>& a, const std::vector<float>& b,
                       const te::Program& p, te::Precision precision) {
    std::vector<const void*> inputs = {a.data(), b.data()};
    return *te::Evaluator::Make(p, inputs, {.precision = precision});
  };
  auto exact = evaluator(x, k, conv, te::Precision::kDouble);
  auto size = evaluator(x_size, k_size, conv, te::Precision::kDouble);
  for (int alternative : {1, 2}) {
    auto program = te::MakeAlternative(conv, alternative);
    ASSERT_TRUE(program.ok());
    std::vector<float> u = Transformed(program->tensors[conv.inputs[1]], k);
    auto winograd = evaluator(x, u, *program, te::Precision::kNative);
    double worst = 0;  // in units of 2^-23 sum |ab|
    for (int64_t h = 0; h < 10; ++h) {
      for (int64_t w = 0; w < 10; ++w) {
        for (int64_t o = 0; o < 4; ++o) {
          const int64_t at[] = {0, h, w, o};
          const int out = conv.outputs[0];
          double error = std::abs(*winograd.Element(out, at) - *exact.Element(out, at));
          worst = std::max(worst, error / (std::ldexp(1, -23) * *size.Element(out, at)));
        }
      }
    }
    EXPECT_LE(worst, te::ErrorBound(alternative)) << "alternative " << alternative;
    EXPECT_GT(worst, 0) << "alternative " << alternative;
  }
}

TEST(Winograd, IsAValidProgram) {
  for (int alternative : {1, 2}) {
    auto p = te::MakeAlternative(ConvBatch(2, 7, 9, 4, 6, 1), alternative);
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    EXPECT_TRUE(te::Verify(*p).ok()) << te::Verify(*p).ToString();
    EXPECT_EQ(p->stages.size(), 6u);
  }
}

}  // namespace
}  // namespace temper::lower
