#include "costmodel/pages.h"

#include <gtest/gtest.h>

#include "compiler/tir/expr.h"
#include "compiler/tir/stmt.h"
#include "costmodel/prior.h"

namespace temper::costmodel {
namespace {

using tir::Bind;
using tir::Expr;

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

// out[r, 16 (vectors c + u) + v] = in[16 (vectors c + u) + v, r]: a transpose of `rows` rows of
// 1024 numbers, a page each. All rows are written for each panel of columns in turn.
StoreView Transpose(int64_t rows, int64_t vectors, int64_t panels,
                    tir::Scope from = tir::Scope::kParam) {
  constexpr int64_t kColumns = 1024;
  tir::Function f;
  auto buffer = [&](std::vector<int64_t> shape, tir::Scope scope) {
    tir::Buffer b;
    b.shape = std::move(shape);
    b.scope = scope;
    b.param = static_cast<int>(f.buffers.size());
    f.buffers.push_back(b);
  };
  buffer({kColumns, rows}, from);
  buffer({rows, kColumns}, tir::Scope::kParam);
  const int64_t blocks = kColumns / 16 / vectors / panels;
  Expr p = tir::Var(0, "p"), r = tir::Var(1, "r"), c = tir::Var(2, "c"), u = tir::Var(3, "u"),
       v = tir::Var(4, "v");
  f.next_var = 5;
  const Expr block = p * tir::Index(blocks) + c;
  const Expr column = (block * tir::Index(vectors) + u) * tir::Index(16) + v;
  Expr in[2] = {column, r};
  tir::Stmt s = tir::Store(1, {r, column}, tir::Load(0, DType::kFloat32, in));
  s = tir::For(u, 0, vectors, Bind::kUnroll, tir::For(v, 0, 16, Bind::kVector, s));
  s = tir::For(r, 0, rows, Bind::kSerial, tir::For(c, 0, blocks, Bind::kSerial, s));
  f.body = tir::For(p, 0, panels, Bind::kSerial, s);
  return ViewStores(f, Avx512())[0];
}

TEST(Pages, CountsWhatLoopsTouch) {
  const StoreView s = Transpose(196, 4, 16);
  EXPECT_EQ(PagesTouched(s, s.accesses[0], 5), 1);
  EXPECT_EQ(PagesTouched(s, s.accesses[0], 3), 1);    // 256 bytes of a row
  EXPECT_EQ(PagesTouched(s, s.accesses[0], 1), 196);  // of all rows
  EXPECT_EQ(PagesTouched(s, s.accesses[0], 0), 196);
  EXPECT_EQ(PagesTouched(s, s.accesses[1], 3), 13);  // 64 rows of 784 bytes
}

// 16 times over 196 rows, and for the first time once.
TEST(Pages, AreLeftWhereMoreAreBetween) {
  EXPECT_EQ(PagesRevisited(Transpose(196, 4, 16), 64), 15 * 196);
  EXPECT_EQ(PagesRevisited(Transpose(64, 4, 16), 64), 0);
  EXPECT_EQ(PagesRevisited(Transpose(196, 4, 1), 64), 0);
}

// Of half a row's 64 vectors two bodies hide it no more than one does, 32 do.
TEST(Pages, AreNoneWhereEachIsStayedIn) {
  EXPECT_EQ(PagesRevisited(Transpose(196, 4, 8), 64), 7 * 196);
  EXPECT_EQ(PagesRevisited(Transpose(196, 1, 2), 64), 0);
}

// Those of a tile's results are hidden by its sums.
TEST(Pages, StoresOfWhatRegistersHoldWaitForNone) {
  EXPECT_EQ(PagesRevisited(Transpose(196, 4, 16, tir::Scope::kRegister), 64), 0);
}

TEST(Prior, StoresIntoAnotherPageEachTakeLonger) {
  auto us = [](int64_t rows, int64_t panels, const PriorConstants& constants) {
    return EstimateStore(Transpose(rows, 4, panels), Avx512(), 1, constants).compute_us;
  };
  PriorConstants other;
  other.page_cycles = 0;
  EXPECT_GT(us(196, 16, {}), 1.2 * us(196, 1, {}));
  EXPECT_GT(us(196, 16, {}), us(196, 16, other));
  EXPECT_EQ(us(64, 16, {}), us(64, 16, other));
}

}  // namespace
}  // namespace temper::costmodel
