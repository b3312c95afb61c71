#include "compiler/target/peak_loop.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(PeakLoop, IsAsWideAsAskedAndCountsItsArithmetic) {
  for (int bits : {128, 256, 512}) {
    const PeakLoop loop = MakePeakLoop(bits);
    EXPECT_LE(loop.vector_bits, bits);
    EXPECT_EQ(loop.flops, 2.0 * 12 * loop.vector_bits / 32);
    // Each chain tends to b / (1 - m) = 1; twelve of them are summed.
    EXPECT_NEAR(loop.run(20000), 12, 1e-2);
  }
  EXPECT_EQ(MakePeakLoop(128).vector_bits, 128);
  EXPECT_GT(PeakGflops(0.001, 128), 0);
}

}  // namespace
}  // namespace temper
