#include <gtest/gtest.h>

#include "tests/compiler/codegen/harness.h"

namespace temper::codegen {
namespace {
using namespace tir;

TEST(BasicTest, AddsTwoVectors) {
  FunctionBuilder f;
  int a = f.Param("a", DType::kFloat32, {64}), b = f.Param("b", DType::kFloat32, {64});
  int c = f.Param("c", DType::kFloat32, {64}, true);
  Expr i = f.NewVar("i");
  Expr at = Ramp(i * Expr(16), 1, 16);
  auto fn =
      f.Finish(For(i, 0, 4, Bind::kSerial, Store(c, {at}, f.Read(a, {at}) + f.Read(b, {at}))));
  auto k = Kernel::Build(fn, f.outputs(), DetectTarget());
  ASSERT_TRUE(k.ok()) << k.status().ToString();
  std::vector<float> x(64), y(64), z(64);
  for (int j = 0; j < 64; ++j) x[j] = j, y[j] = 2 * j;
  EXPECT_EQ((*k)->Run({x.data(), y.data(), z.data()}), 0);
  for (int j = 0; j < 64; ++j) EXPECT_EQ(z[j], 3 * j);
}
}  // namespace
}  // namespace temper::codegen
