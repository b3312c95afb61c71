#include "compiler/tools/kernel_builder/element_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/seeded_values.h"
#include "tests/support/programs.h"

namespace temper::tools {
namespace {

using temper::testing::MatmulBiasRelu;

double Value(int argument, int64_t index) {
  return SeededValue(DType::kFloat32, 3, argument, index);
}

TEST(ElementEvaluator, ComputesAMatmulWithItsEpilogue) {
  te::Program p = MatmulBiasRelu(5, 7, 9);
  ASSERT_TRUE(te::Verify(p).ok());
  ElementEvaluator evaluator(p, {.seed = 3});
  // Which input is which follows from the shapes: x[5, 9], w of 63 elements, b[7].
  ASSERT_EQ(p.inputs.size(), 3u);
  const auto& w = p.tensors[static_cast<size_t>(p.inputs[1])].shape;
  ASSERT_EQ(w.size(), 2u);
  bool w_is_kn = w[0] == 9;
  for (int64_t i : {0, 6, 20, 34}) {
    int64_t row = i / 7, column = i % 7;
    double sum = 0;
    for (int64_t k = 0; k < 9; ++k) {
      sum += Value(0, row * 9 + k) * Value(1, w_is_kn ? k * 7 + column : column * 9 + k);
    }
    double expected = std::fmax(sum + Value(2, column), 0);
    auto value = evaluator.Evaluate(0, i);
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    EXPECT_NEAR(*value, expected, 1e-12) << i;
  }
}

TEST(ElementEvaluator, AbsoluteInputsBoundTheValue) {
  te::Program p = MatmulBiasRelu(4, 4, 16);
  ElementEvaluator values(p, {.seed = 3});
  ElementEvaluator scales(p, {.seed = 3, .absolute = true});
  for (int64_t i = 0; i < 16; ++i) {
    auto value = values.Evaluate(0, i), scale = scales.Evaluate(0, i);
    ASSERT_TRUE(value.ok() && scale.ok());
    EXPECT_GE(*scale, std::fabs(*value));
    EXPECT_GT(*scale, 0);
  }
}

TEST(ElementEvaluator, RefusesElementsThatAreNotThereAndStopsAtItsLimit) {
  te::Program p = MatmulBiasRelu(4, 4, 16);
  ElementEvaluator evaluator(p, {.seed = 3});
  EXPECT_EQ(evaluator.Evaluate(1, 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(evaluator.Evaluate(0, 16).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(evaluator.Evaluate(0, -1).status().code(), Code::kInvalidArgument);
  ElementEvaluator limited(p, {.seed = 3, .max_nodes = 20});
  EXPECT_EQ(limited.Evaluate(0, 0).status().code(), Code::kResourceExhausted);
}

TEST(ProbePositions, HasCornersAndIsDistinct) {
  auto positions = ProbePositions({10, 20, 30}, 64, 1);
  ASSERT_EQ(positions.size(), 64u);
  EXPECT_EQ(positions.front(), 0);
  EXPECT_EQ(positions.back(), 10 * 20 * 30 - 1);
  for (size_t i = 1; i < positions.size(); ++i) EXPECT_LT(positions[i - 1], positions[i]);
  EXPECT_EQ(ProbePositions({10, 20, 30}, 64, 1), positions);
  EXPECT_EQ(ProbePositions({2, 3}, 64, 1).size(), 6u);
  EXPECT_EQ(ProbePositions({}, 64, 1).size(), 1u);
}

}  // namespace
}  // namespace temper::tools
