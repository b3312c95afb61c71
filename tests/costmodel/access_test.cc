#include "costmodel/access.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costmodel/features.h"
#include "costmodel/per_thread.h"
#include "costmodel/prior.h"
#include "costmodel/torn_lines.h"

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

// r[u, v] = x[(o * 4 + u) * 8 + v], then y[..] = r[u, v] where that is below `extent`, o in
// 0 .. `tiles` - 1.
std::vector<StoreView> Guarded(int64_t tiles, int64_t extent) {
  tir::Function f;
  for (int b = 0; b < 2; ++b) {
    tir::Buffer buffer;
    buffer.shape = {extent};
    buffer.param = b;
    f.params.push_back(b);
    f.buffers.push_back(buffer);
  }
  f.buffers.emplace_back();
  f.buffers[2].shape = {32};
  f.buffers[2].scope = tir::Scope::kRegister;
  Expr o = tir::Var(0, "o"), u = tir::Var(1, "u"), v = tir::Var(2, "v");
  f.next_var = 3;
  Expr i = o * tir::Index(32) + u * tir::Index(8) + v;
  Expr at[1] = {i}, sum[1] = {u * tir::Index(8) + v};
  tir::Stmt make = tir::Store(2, {sum[0]}, tir::Load(0, DType::kFloat32, at));
  tir::Stmt store = tir::If(tir::Lt(i, tir::Index(extent)),
                            tir::Store(1, {i}, tir::Load(2, DType::kFloat32, sum)));
  auto tile = [&](const tir::Stmt& s) {
    return tir::For(u, 0, 4, Bind::kUnroll, tir::For(v, 0, 8, Bind::kVector, s));
  };
  f.body =
      tir::For(o, 0, tiles, Bind::kSerial, tir::Allocate(2, tir::Block({tile(make), tile(store)})));
  return ViewStores(f, Avx512());
}

TEST(Access, WhatTheLastTileLeavesOut) {
  std::vector<StoreView> s = Guarded(2, 49);  // the second tile needs three of its four vectors
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[1].guards, 1);
  EXPECT_DOUBLE_EQ(s[1].guarded, 1.0 / 8);
  EXPECT_DOUBLE_EQ(s[1].last, 1.0 / 2);
  EXPECT_DOUBLE_EQ(s[1].last_work, 3.0 / 4);
  EXPECT_DOUBLE_EQ(s[0].last, 1.0 / 2);  // nor does it make the fourth
  EXPECT_DOUBLE_EQ(s[0].last_work, 3.0 / 4);
  EXPECT_DOUBLE_EQ(s[0].guarded, 0);
  s = Guarded(10, 289);  // one of forty vectors holds one element, three none
  EXPECT_DOUBLE_EQ(s[1].guarded, 1.0 / 40);
  EXPECT_DOUBLE_EQ(s[1].last, 1.0 / 10);
  EXPECT_DOUBLE_EQ(s[1].last_work, 1.0 / 4);
  s = Guarded(4, 49);  // two tiles lie past the end
  EXPECT_DOUBLE_EQ(s[1].guarded, 1);
  EXPECT_DOUBLE_EQ(s[1].last_work, 1);
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

// y[i] = value of x[i], the loop over i bound as given.
StoreView ViewOf(Bind bind, const std::function<Expr(Expr i, Expr x)>& value) {
  tir::Function f;
  for (int b = 0; b < 2; ++b) {
    tir::Buffer buffer;
    buffer.shape = {8};
    buffer.param = b;
    f.params.push_back(b);
    f.buffers.push_back(buffer);
  }
  Expr i = tir::Var(0, "i");
  f.next_var = 1;
  Expr index[1] = {i};
  Expr x = tir::Load(0, DType::kFloat32, index);
  f.body = tir::For(i, 0, 8, bind, tir::Store(1, {i}, value(i, x)));
  return ViewStores(f, Avx512())[0];
}

TEST(Access, CountsWhatTermsShareOnce) {
  const Operations ops = ViewOf(Bind::kSerial, [](Expr, Expr x) {
                           Expr shared = x + x;
                           for (int n = 0; n < 40; ++n) shared = shared + shared;
                           return shared;
                         }).operations;
  EXPECT_EQ(ops.add, 41);
}

TEST(Access, CountsOneSideOfWhatUnrollingDecides) {
  auto value = [](Expr i, Expr x) {
    return tir::Select(tir::Lt(i, tir::Index(4)), x + x, (x + x) * x * x);
  };
  const Operations unrolled = ViewOf(Bind::kUnroll, value).operations;
  EXPECT_EQ(unrolled.add, 1);
  EXPECT_EQ(unrolled.multiply, 2);
  EXPECT_EQ(unrolled.compare, 0);
  const Operations serial = ViewOf(Bind::kSerial, value).operations;
  EXPECT_EQ(serial.add, 2);
  EXPECT_GE(serial.compare, 1);
}

// Lanes beside a row's ends are off in the same way for all rows: their masks are constants once
// the vectors of a row are unrolled. In a serial loop they are worked out for each vector.
TEST(Access, SettlesConditionsThatUnrollingOrAllLanesDecide) {
  for (const Bind bind : {Bind::kUnroll, Bind::kSerial}) {
    tir::Function f = Matmul(64, 128, 32, 4, 16);
    Expr i = tir::Var(0, "i"), jo = tir::Var(1, "jo"), ji = tir::Var(4, "ji");
    Expr j = jo * tir::Index(16) + ji - tir::Index(1);
    Expr lanes = tir::And(tir::Le(tir::Index(0), j), tir::Lt(j, tir::Index(120)));
    Expr row = tir::Lt(i, tir::Index(60));
    Expr at[2] = {i, j};
    Expr value = tir::Select(tir::And(row, lanes), tir::Load(0, DType::kFloat32, at),
                             tir::Number(DType::kFloat32, 0));
    tir::Stmt s = tir::Store(2, {i, jo * tir::Index(16) + ji}, value);
    s = tir::For(jo, 0, 8, bind, tir::For(ji, 0, 16, Bind::kVector, s));
    f.body = tir::For(i, 0, 64, Bind::kSerial, s);
    const StoreView view = ViewStores(f, Avx512())[0];
    EXPECT_EQ(view.operations.compare, 4);  // three conditions and the choice
    EXPECT_EQ(view.settled.compare, bind == Bind::kUnroll ? 4 : 2);
  }
}

// Which of a stride's phases a row is of is worked out once for all lanes.
TEST(Access, SettlesQuotientsInConditionsOfAllLanes) {
  tir::Function f = Matmul(64, 128, 32, 4, 16);
  Expr i = tir::Var(0, "i"), ji = tir::Var(4, "ji");
  Expr at[2] = {i, ji};
  Expr even = tir::Lt(tir::FloorMod(i, tir::Index(2)), tir::Index(1));
  Expr value =
      tir::Select(even, tir::Load(0, DType::kFloat32, at), tir::Number(DType::kFloat32, 0));
  tir::Stmt s = tir::For(ji, 0, 16, Bind::kVector, tir::Store(2, {i, ji}, value));
  f.body = tir::For(i, 0, 64, Bind::kSerial, s);
  const StoreView view = ViewStores(f, Avx512())[0];
  EXPECT_EQ(view.operations.divide, 1);
  EXPECT_EQ(view.settled.divide, 1);
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

// Windows along a row: three vectors that share lanes are three loads, across lines.
TEST(Prior, VectorsThatShareLanesAreLoadedEach) {
  const auto loads = [](int64_t step) {
    tir::Function f = Matmul(64, 128, 32, 4, 16);
    Expr k = tir::Var(0, "k"), ji = tir::Var(4, "ji");
    Expr at[2] = {tir::Index(0), k * tir::Index(step) + ji};
    Expr out[2] = {tir::Index(0), ji};
    tir::Stmt s =
        tir::Store(2, {tir::Index(0), ji},
                   tir::Load(2, DType::kFloat32, out) + tir::Load(1, DType::kFloat32, at));
    f.body = tir::For(k, 0, 3, Bind::kUnroll, tir::For(ji, 0, 16, Bind::kVector, s));
    return EstimateStore(ViewStores(f, Avx512())[0], Avx512(), 1).body_loads;
  };
  EXPECT_NEAR(loads(16) - 1, 3, 1e-6);  // one more is the result
  EXPECT_NEAR(loads(1) - 1, 3 * (1 + 60.0 / 64), 1e-6);
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

TEST(Prior, RowsAPageApartDriveEachOtherOut) {
  auto lines = [](int64_t k) {
    const StoreView s = ViewStores(Matmul(64, 64, k, 16, 16), Avx512())[0];
    return EstimateStore(s, Avx512(), 1).traffic[1][0];  // of a, into the first level
  };
  EXPECT_GT(lines(1024), 4 * lines(1040));
}

TEST(Prior, VectorsAcrossLinesAreTwoLoads) {
  auto loads = [](int64_t n) {
    return EstimateStore(ViewStores(Matmul(64, n, 32, 4, 16), Avx512())[0], Avx512(), 1).body_loads;
  };
  EXPECT_GT(loads(52), 1.2 * loads(48));
}

TEST(Prior, ThreadsShareTheParallelLoop) {
  tir::Function f = Matmul(512, 512, 512, 8, 16);
  f.body = tir::For(f.body->var, 0, f.body->extent, Bind::kParallel, f.body->body());
  StoreView s = ViewStores(f, Avx512())[0];
  Target t = Avx512();
  t.cores = 4;
  EXPECT_NEAR(EstimateStore(s, t, 1).compute_us / EstimateStore(s, t, 4).compute_us, 4, 1e-6);
}

tir::Function InParallel(tir::Function f) {
  f.body = tir::For(f.body->var, 0, f.body->extent, Bind::kParallel, f.body->body());
  return f;
}

TEST(Prior, CoresReadForThemselvesWhatTheParallelLoopDoesNotMove) {
  StoreView s = ViewStores(InParallel(Matmul(512, 512, 512, 8, 16)), Avx512())[0];
  Target t = Avx512();
  t.cores = 2;
  t.l1_bytes = t.l2_bytes = 64 << 20;  // all of it fits
  const double lines = 512 * 512 / 16;
  StoreEstimate one = EstimateStore(s, t, 1), two = EstimateStore(s, t, 2);
  EXPECT_NEAR(one.traffic[1][0], lines, 1);  // a: rows are shared out
  EXPECT_NEAR(two.traffic[1][0], lines, 1);
  EXPECT_NEAR(one.traffic[2][0], lines, 1);  // b: each reads all
  EXPECT_NEAR(two.traffic[2][0], 2 * lines, 1);
}

TEST(Prior, StartsAParallelLoopOnceForAllItsStores) {
  tir::Function f = InParallel(Matmul(512, 512, 512, 8, 16));
  const tir::Stmt inner = f.body->body();
  f.body = tir::For(f.body->var, 0, f.body->extent, Bind::kParallel, tir::Block({inner, inner}));
  std::vector<StoreView> stores = ViewStores(f, Avx512());
  ASSERT_EQ(stores.size(), 2u);
  std::vector<StoreEstimate> estimates;
  const double us = EstimateProgram(stores, Avx512(), 2, &estimates);
  EXPECT_NEAR(us, estimates[0].total_us + estimates[1].total_us, 1e-9);
  const double start = estimates[0].total_us - estimates[1].total_us;
  EXPECT_GT(start, 0);
  Target slow = Avx512();
  slow.rates = RatesOf(slow);
  slow.rates.handoff_ns += 5000;
  EXPECT_NEAR(EstimateProgram(stores, slow, 2, &estimates), us + 10, 1e-6);
}

// The same with columns of tiles in parallel.
tir::Function ColumnsInParallel(tir::Function f) {
  const tir::Stmt io = f.body, jo = io->body();
  f.body = tir::For(jo->var, 0, jo->extent, Bind::kParallel,
                    tir::For(io->var, 0, io->extent, Bind::kSerial, jo->body()));
  return f;
}

TEST(Prior, ThreadsWaitForLinesThatTheyBothWrite) {
  const Target t = Avx512();
  auto torn = [&](const tir::Function& f, int threads) {
    return TornLines(ViewStores(f, t)[0], t, threads);
  };
  // Columns shared out: a line of each row of 500 is written by both, none of rows of 512.
  EXPECT_EQ(torn(ColumnsInParallel(Matmul(512, 488, 64, 8, 4)), 2), 512);
  EXPECT_EQ(torn(ColumnsInParallel(Matmul(512, 512, 64, 8, 4)), 2), 0);
  EXPECT_EQ(torn(ColumnsInParallel(Matmul(512, 488, 64, 8, 4)), 1), 0);
  // Rows shared out: none but at the border.
  EXPECT_LE(torn(InParallel(Matmul(512, 488, 64, 8, 4)), 2), 1);
  std::vector<StoreEstimate> estimates;
  const auto stores = ViewStores(ColumnsInParallel(Matmul(512, 488, 64, 8, 4)), t);
  EXPECT_GT(EstimateProgram(stores, t, 2, &estimates), 0);
  EXPECT_NEAR(estimates[0].torn_us, 512 * PriorConstants().torn_ns * 1e-3, 1e-9);
}

TEST(Prior, OfFusedParallelLoopsTheSlowestIsSharedOut) {
  // c[i, j] of 64 by 32 in parallel over i and 8 blocks of 4 j.
  tir::Function f;
  tir::Buffer c;
  c.name = "c";
  c.shape = {64, 32};
  c.param = 0;
  f.params = {0};
  f.buffers = {c};
  f.next_var = 2;
  const Expr p = tir::Var(0, "p"), j = tir::Var(1, "j");
  double share = 0;
  auto dim_of_runs = [&](const Expr& row, const Expr& block) {
    tir::Stmt s =
        tir::Store(0, {row, block * tir::Index(4) + j}, tir::FloatImm(DType::kFloat32, 1));
    f.body = tir::For(p, 0, 64 * 8, Bind::kParallel, tir::For(j, 0, 4, Bind::kUnroll, s));
    const StoreView view = ViewStores(f, Avx512())[0];
    share = PerThread(view, 2).Share(view.accesses[0]);
    return PerThread(view, 2).DimOfRuns(view.accesses[0]);
  };
  EXPECT_EQ(dim_of_runs(tir::FloorDiv(p, tir::Index(8)), tir::FloorMod(p, tir::Index(8))), 0);
  EXPECT_EQ(share, 0.5);
  EXPECT_EQ(dim_of_runs(tir::FloorMod(p, tir::Index(64)), tir::FloorDiv(p, tir::Index(64))), 1);
  EXPECT_EQ(share, 0.5);
  EXPECT_EQ(dim_of_runs(tir::FloorMod(p, tir::Index(64)), tir::Index(0)),
            -1);  // goes round 8 times
  EXPECT_EQ(share, 1);
}

TEST(Prior, EachThreadReadsSharedWeightsFromMemoryItself) {
  const int b = 1;
  auto lines_from_memory = [&](const tir::Function& f) {
    return EstimateStore(ViewStores(f, Avx512(), {&b, 1})[0], Avx512(), 2).traffic[2][2];
  };
  const double lines = 512 * 512 / 16;
  EXPECT_NEAR(lines_from_memory(InParallel(Matmul(512, 512, 512, 8, 16))), 2 * lines, 1);
  EXPECT_NEAR(lines_from_memory(ColumnsInParallel(Matmul(512, 512, 512, 8, 16))), lines, 1);
}

TEST(Prior, ConstantsComeFromMemoryAndActivationsFromACache) {
  const int b = 1;
  auto memory_us = [&](std::vector<int> constants, int64_t n) {
    tir::Function f = Matmul(512, n, 512, 8, 16);
    return EstimateStore(ViewStores(f, Avx512(), constants)[0], Avx512(), 1).memory_us;
  };
  EXPECT_EQ(memory_us({}, 1024), 0);
  EXPECT_GT(memory_us({b}, 1024), 0);  // two megabytes
  EXPECT_EQ(memory_us({b}, 256), 0);   // half a megabyte stays in the last cache
}

TEST(Prior, WarmConstantsComeFromTheLastLevel) {
  const int b = 1;
  const tir::Function f = Matmul(512, 1024, 512, 8, 16);
  auto estimate = [&](Constants place) {
    PriorConstants trusting;
    trusting.trust_warm = 1;
    return EstimateStore(ViewStores(f, Avx512(), {&b, 1}, place)[0], Avx512(), 1, trusting);
  };
  EXPECT_EQ(estimate(Constants::kWarm).memory_us, 0);
  EXPECT_LT(estimate(Constants::kWarm).total_us, estimate(Constants::kCold).total_us);
  EXPECT_EQ(estimate(Constants::kWarm).l3_us, estimate(Constants::kCold).l3_us);
  EXPECT_EQ(ExtractFeatures(f, Avx512(), 1, {&b, 1}, Constants::kWarm).prior_us,
            ExtractFeatures(f, Avx512(), 1, {&b, 1}).prior_us)
      << "unless told to trust it";
}

// Each step of the reduction touches what `steps` later ones read of b.
tir::Function Prefetching(tir::Function f, int64_t steps) {
  std::vector<tir::Stmt> loops;  // io, jo, r
  for (tir::Stmt s = f.body; loops.size() < 3; s = s->body()) loops.push_back(s);
  Expr ahead = loops[2]->var + tir::Index(steps);
  tir::Stmt s =
      tir::Block({tir::Prefetch(1, {ahead, loops[1]->var * tir::Index(16)}, 3), loops[2]->body()});
  for (size_t l = 3; l-- > 0;) s = tir::For(loops[l]->var, 0, loops[l]->extent, loops[l]->bind, s);
  f.body = s;
  return f;
}

TEST(Access, SeesHowFarAheadAPrefetchIs) {
  StoreView s = ViewStores(Prefetching(Matmul(64, 128, 32, 4, 16), 6), Avx512())[0];
  EXPECT_EQ(s.prefetches, 1);
  for (const AccessView& a : s.accesses) EXPECT_EQ(a.ahead_bytes, a.buffer == 1 ? 6 * 128 * 4 : 0);
}

TEST(Prior, APrefetchShortensTheWaitForMemoryAlone) {
  const int b = 1;
  auto us = [&](int64_t m, int64_t steps, std::vector<int> constants) {
    tir::Function f = Matmul(m, 1024, 512, 8, 16);
    if (steps > 0) f = Prefetching(f, steps);
    return EstimateStore(ViewStores(f, Avx512(), constants)[0], Avx512(), 1).total_us;
  };
  // One row of tiles: all of b comes from memory while it is multiplied.
  EXPECT_GT(us(8, 0, {b}), 1.5 * us(8, 0, {}));
  EXPECT_LT(us(8, 8, {b}), us(8, 0, {b}));
  EXPECT_LE(us(8, 32, {b}), us(8, 8, {b}));
  EXPECT_GE(us(8, 8, {}), us(8, 0, {}));  // what is in a cache needs none
  // Of eight rows of tiles only the first waits, for as long.
  EXPECT_NEAR(us(64, 0, {b}) - us(64, 0, {}), us(8, 0, {b}) - us(8, 0, {}), 0.3 * us(8, 0, {b}));
}

TEST(Prior, AStreamOfConstantsIsAskedForSomeKilobytesAhead) {
  const std::vector<int> constants = {1};
  StoreView s = ViewStores(Matmul(1, 1024, 2048, 1, 16), Avx512(), constants)[0];
  PriorConstants rapid;  // so that what is left is the stream
  rapid.fma_latency = 0;
  auto us = [&](double ahead) {
    for (AccessView& a : s.accesses) a.ahead_bytes = a.buffer == 1 ? ahead : 0;
    return EstimateStore(s, Avx512(), 1, rapid).total_us;
  };
  EXPECT_LT(us(4096), us(1024));
  EXPECT_LT(us(4096), us(8192));
  EXPECT_EQ(us(4096), us(3072));
  rapid.fma_latency = 40;  // the sums take longer than their operands
  EXPECT_EQ(us(4096), us(8192));
}

TEST(Prior, ManyLinesOfAWarmStreamAtATimeAreLikeNone) {
  const std::vector<int> constants = {1};
  PriorConstants rapid;
  rapid.fma_latency = 0;
  rapid.trust_warm = 1;
  auto us = [&](Constants place, double ahead) {
    StoreView s = ViewStores(Matmul(1, 1024, 2048, 1, 16), Avx512(), constants, place)[0];
    for (AccessView& a : s.accesses) a.ahead_bytes = a.buffer == 1 ? ahead : 0;
    return EstimateStore(s, Avx512(), 1, rapid).total_us;
  };
  EXPECT_LT(us(Constants::kWarm, 4096), us(Constants::kWarm, 0));
  rapid.burst_lines = 0.5;  // the body has one
  EXPECT_EQ(us(Constants::kWarm, 4096), us(Constants::kWarm, 0));
  EXPECT_LT(us(Constants::kCold, 4096), us(Constants::kCold, 0)) << "as before";
}

TEST(Prior, FollowsTheTargetsRates) {
  StoreView s = ViewStores(Matmul(512, 512, 512, 8, 16), Avx512())[0];
  Target t = Avx512();
  t.rates = RatesOf(t);
  const double before = EstimateStore(s, t, 1).compute_us;
  t.rates.gflops.core *= 2;
  EXPECT_NEAR(EstimateStore(s, t, 1).compute_us, before / 2, 1e-6);
  const double l2_us = EstimateStore(s, t, 1).l2_us;
  t.rates.gbytes[1].core /= 2;
  EXPECT_NEAR(EstimateStore(s, t, 1).l2_us, 2 * l2_us, 1e-6);
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

// Rows a power of two apart share few sets of the first level, so that a panel of 64 of them, a
// tenth of it, does not stay there.
TEST(Prior, RowsThatShareSetsDoNotStayInTheFirstLevel) {
  auto inside = [](int64_t columns) {
    return EstimateStore(ViewStores(Matmul(512, columns, 64, 8, 16), Avx512())[0], Avx512(), 1)
        .inside_l1;
  };
  EXPECT_EQ(inside(512), 8 * 16);
  EXPECT_GE(inside(528), 64 * 8 * 16);
}

// Twelve rows a page apart fit a set of twelve ways, thirteen drive each other out in each step.
TEST(Prior, RowsOfATileThatShareASetAreReadAgain) {
  auto l2_us = [](int64_t rows, int64_t sums) {
    Target target = Avx512();
    target.l1_bytes = 48 << 10;
    const StoreView s = ViewStores(Matmul(12 * 13, 64, sums, rows, 16), target)[0];
    return EstimateStore(s, target, 1).l2_us;
  };
  EXPECT_GT(l2_us(13, 1024), 1.5 * l2_us(12, 1024));
  EXPECT_LT(l2_us(13, 1040), 1.1 * l2_us(12, 1040));
}

// acc[p, v] += x[2 (8 o + p) + k, c] * w[k, c, v], with x read only inside 0 .. 63 if `padded`.
StoreEstimate Window(int64_t channels, bool padded) {
  tir::Function f;
  auto buffer = [&](std::vector<int64_t> shape, tir::Scope scope) {
    tir::Buffer b;
    b.shape = std::move(shape);
    b.scope = scope;
    b.param = static_cast<int>(f.buffers.size());
    f.buffers.push_back(b);
  };
  buffer({80, channels}, tir::Scope::kParam);
  buffer({3, channels, 16}, tir::Scope::kParam);
  buffer({8, 16}, tir::Scope::kRegister);
  Expr o = tir::Var(0, "o"), k = tir::Var(1, "k"), c = tir::Var(2, "c"), p = tir::Var(3, "p"),
       v = tir::Var(4, "v");
  f.next_var = 5;
  const Expr at = (o * tir::Index(8) + p) * tir::Index(2) + k;
  Expr xi[2] = {at, c}, wi[3] = {k, c, v}, ai[2] = {p, v};
  const Expr inside = padded ? tir::Lt(at, tir::Index(64)) : Expr();
  tir::Stmt s =
      tir::Store(2, {p, v},
                 tir::Load(2, DType::kFloat32, ai) +
                     tir::Load(0, DType::kFloat32, xi, inside) * tir::Load(1, DType::kFloat32, wi));
  s = tir::For(p, 0, 8, Bind::kUnroll, tir::For(v, 0, 16, Bind::kVector, s));
  s = tir::For(k, 0, 3, Bind::kSerial, tir::For(c, 0, channels, Bind::kSerial, s));
  f.body = tir::For(o, 0, 4, Bind::kSerial, s);
  return EstimateStore(ViewStores(f, Avx512())[0], Avx512(), 1);
}

// Whether a window lies in padding is asked once for all channels under it.
TEST(Prior, PaddingReadInPlaceCostsWhereChannelsAreFew) {
  EXPECT_GT(Window(3, true).compute_us, 1.5 * Window(3, false).compute_us);
  EXPECT_LT(Window(256, true).compute_us, 1.1 * Window(256, false).compute_us);
}

// The same multiply-adds take longer in a body of many instructions.
TEST(Prior, LongBodiesTakeLonger) {
  auto cycles = [](int64_t rows, const PriorConstants& constants) {
    const StoreView s = ViewStores(Matmul(1024, 16, 64, rows, 16), Avx512())[0];
    return EstimateStore(s, Avx512(), 1, constants).body_cycles;
  };
  PriorConstants other;
  other.long_cost = 0;
  EXPECT_EQ(cycles(32, {}), cycles(32, other));
  EXPECT_DOUBLE_EQ(cycles(128, {}), (1 + PriorConstants().long_cost) * cycles(128, other));
}

}  // namespace
}  // namespace temper::costmodel
