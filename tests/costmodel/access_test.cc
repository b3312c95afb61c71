#include "costmodel/access.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/features.h"
#include "costmodel/prior.h"

namespace temper::costmodel {
namespace {

using tir::Bind;
using tir::Expr;

// c[i, j] += a[i, k] * b[k, j] with i = io * rows + ii, lanes along j.
tir::Function Matmul(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t lanes) {
  tir::Function f;
  auto buffer = [&](const char* name, std::vector<int64_t> shape) {
    tir::Buffer b;
    b.name = name;
    b.shape = std::move(shape);
    b.param = static_cast<int>(f.buffers.size());
    f.params.push_back(b.param);
    f.buffers.push_back(b);
  };
  buffer("a", {m, k});
  buffer("b", {k, n});
  buffer("c", {m, n});
  Expr io = tir::Var(0, "io"), jo = tir::Var(1, "jo"), r = tir::Var(2, "r"), ii = tir::Var(3, "ii"),
       ji = tir::Var(4, "ji");
  f.next_var = 5;
  Expr i = io * tir::Index(rows) + ii, j = jo * tir::Index(lanes) + ji;
  Expr ai[2] = {i, r}, bi[2] = {r, j}, ci[2] = {i, j};
  Expr value = tir::Load(2, DType::kFloat32, ci) +
               tir::Load(0, DType::kFloat32, ai) * tir::Load(1, DType::kFloat32, bi);
  tir::Stmt s = tir::Store(2, {i, j}, value);
  s = tir::For(ji, 0, lanes, Bind::kVector, s);
  s = tir::For(ii, 0, rows, Bind::kUnroll, s);
  s = tir::For(r, 0, k, Bind::kSerial, s);
  s = tir::For(jo, 0, n / lanes, Bind::kSerial, s);
  f.body = tir::For(io, 0, m / rows, Bind::kSerial, s);
  return f;
}

Target Avx512() {
  Target t;
  t.vector_bits = 512;
  t.vector_registers = 32;
  t.masked_vectors = true;
  t.l1_bytes = 32 << 10;
  t.l2_bytes = 1 << 20;
  t.l3_bytes = 32 << 20;
  return t;
}

TEST(Access, CountsArithmeticAndStrides) {
  std::vector<StoreView> stores = ViewStores(Matmul(64, 128, 32, 4, 16), Avx512());
  ASSERT_EQ(stores.size(), 1u);
  const StoreView& s = stores[0];
  EXPECT_EQ(s.loops.size(), 5u);
  EXPECT_EQ(s.iterations, 64.0 * 128 * 32);
  EXPECT_EQ(s.operations.fused, 1);
  EXPECT_EQ(s.operations.multiply, 0);
  EXPECT_TRUE(s.reduces);
  ASSERT_EQ(s.accesses.size(), 3u);  // c, a, b
  const AccessView& c = s.accesses[0];
  EXPECT_TRUE(c.read && c.write);
  EXPECT_EQ(c.stride[0], 4 * 128);
  EXPECT_EQ(c.stride[2], 0);
  EXPECT_EQ(c.stride[4], 1);
  const AccessView& b = s.accesses[2];
  EXPECT_EQ(b.stride[2], 128);
  EXPECT_EQ(b.stride[0], 0);
}

TEST(Access, FootprintsGrowOutwards) {
  StoreView s = ViewStores(Matmul(64, 128, 32, 4, 16), Avx512())[0];
  const AccessView& b = s.accesses[2];
  EXPECT_EQ(b.footprint[5].elements, 1);
  EXPECT_EQ(b.footprint[4].elements, 16);
  EXPECT_EQ(b.footprint[4].lines, 1);
  EXPECT_EQ(b.footprint[2].elements, 16 * 32);
  EXPECT_EQ(b.footprint[2].lines, 32);
  EXPECT_EQ(b.footprint[0].elements, 128 * 32);
  EXPECT_EQ(b.footprint[0].lines, 128 * 32 / 16);
}

TEST(Access, FractionsOfPackedIndices) {
  // Element p[j / 16, j % 16] of j = jo * 16 + ji: a panel a step of jo.
  tir::Function f;
  for (int i = 0; i < 2; ++i) {
    tir::Buffer b;
    b.shape = i == 0 ? std::vector<int64_t>{4, 16} : std::vector<int64_t>{64};
    b.param = i;
    f.params.push_back(i);
    f.buffers.push_back(b);
  }
  Expr jo = tir::Var(0, "jo"), ji = tir::Var(1, "ji");
  f.next_var = 2;
  Expr j = jo * tir::Index(16) + ji;
  Expr index[2] = {tir::FloorDiv(j, 16), tir::FloorMod(j, 16)};
  tir::Stmt s = tir::Store(1, {j}, tir::Load(0, DType::kFloat32, index));
  f.body = tir::For(jo, 0, 4, Bind::kSerial, tir::For(ji, 0, 16, Bind::kVector, s));
  StoreView view = ViewStores(f, Avx512())[0];
  const AccessView& p = view.accesses[1];
  EXPECT_EQ(p.step[0][0], 1);
  EXPECT_EQ(p.step[1][0], 0);
  EXPECT_EQ(p.step[1][1], 1);
  EXPECT_EQ(p.footprint[0].elements, 64);
}

TEST(Prior, VectorsAndTilesAreFaster) {
  Target t = Avx512();
  auto estimate = [&](int64_t rows, int64_t lanes) {
    return ExtractFeatures(Matmul(512, 512, 512, rows, lanes), t, 1).prior_us;
  };
  EXPECT_LT(estimate(8, 16), estimate(8, 4));
  EXPECT_LT(estimate(8, 4), estimate(8, 1));
  EXPECT_LT(estimate(8, 16), estimate(1, 16));
}

TEST(Prior, TrafficCountsWhatDoesNotFit) {
  // Columns innermost of the outer loops: b is walked again for each row of tiles.
  Target t = Avx512();
  StoreView s = ViewStores(Matmul(512, 512, 512, 8, 16), t)[0];
  StoreEstimate e = EstimateStore(s, t, 1);
  double lines_of_b = 512 * 512 / 16;
  EXPECT_NEAR(e.traffic[2][0], lines_of_b * 512 / 8, 1);  // into L1: once a row of tiles
  t.l1_bytes = 8 << 20;
  e = EstimateStore(s, t, 1);
  EXPECT_NEAR(e.traffic[2][0], lines_of_b, 1);  // all of it fits
}

TEST(Prior, ThreadsShareTheParallelLoop) {
  tir::Function f = Matmul(512, 512, 512, 8, 16);
  f.body = tir::For(f.body->var, 0, f.body->extent, Bind::kParallel, f.body->body());
  StoreView s = ViewStores(f, Avx512())[0];
  EXPECT_NEAR(EstimateStore(s, Avx512(), 1).compute_us / EstimateStore(s, Avx512(), 4).compute_us,
              4, 1e-6);
}

TEST(Features, AreFiniteAndNamed) {
  ProgramFeatures p = ExtractFeatures(Matmul(64, 128, 32, 4, 16), Avx512(), 1);
  ASSERT_EQ(p.stores.size(), 1u);
  for (int i = 0; i < kFeatureCount; ++i) {
    EXPECT_TRUE(std::isfinite(p.stores[0][i])) << i;
    EXPECT_FALSE(FeatureName(i).empty()) << i;
  }
  EXPECT_TRUE(FeatureName(kFeatureCount).empty());
  EXPECT_EQ(FeatureName(9), "lanes");
  EXPECT_EQ(p.stores[0][9], 16);
}

}  // namespace
}  // namespace temper::costmodel
