// The last iteration of a loop whose bound only it can miss.
#include "compiler/lower/peel.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/lower/lower.h"
#include "compiler/tir/interpreter.h"
#include "compiler/tir/printer.h"
#include "compiler/tir/verify.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::Index;
using tir::Stmt;
using tir::StmtKind;

struct Counts {
  int loops = 0, masked = 0, plain = 0;
};

void Count(const Stmt& s, Counts* counts) {
  counts->loops += s->kind == StmtKind::kFor;
  if (s->kind == StmtKind::kStore) {
    ++(s->predicate ? counts->masked : counts->plain);
    tir::Visit(s->value, [&](const Expr& e) {
      if (e->kind() == tir::ExprKind::kLoad) {
        EXPECT_EQ(e->has_predicate(), bool(s->predicate));
      }
      return true;
    });
  }
  for (const Stmt& c : s->children) Count(c, counts);
}

// y[i] = 2 x[i] for i below `n`, by vectors of 16, `unroll` a step, under `wrap`ped loops.
struct Row {
  tir::Function f;
  int64_t n;

  explicit Row(int64_t extent, int64_t unroll = 1, int64_t copies = 1) : n(extent) {
    for (const char* name : {"x", "y"}) {
      tir::Buffer b{.name = name, .dtype = DType::kFloat32, .shape = {n}};
      b.param = static_cast<int>(f.params.size());
      f.params.push_back(static_cast<int>(f.buffers.size()));
      f.buffers.push_back(b);
    }
    const Expr j = tir::Var(0, "j"), u = tir::Var(1, "u"), v = tir::Var(2, "v");
    f.next_var = 3;
    const Expr i = j * Index(16 * unroll) + u * Index(16) + v;
    std::vector<Expr> at = {i};
    const Expr inside = tir::Lt(i, Index(n));
    const Expr value =
        tir::Load(0, DType::kFloat32, at, inside) * tir::FloatImm(DType::kFloat32, 2);
    std::vector<Stmt> stores;
    for (int64_t c = 0; c < copies; ++c) stores.push_back(tir::Store(1, at, value));
    Stmt s = tir::If(inside, tir::Block(std::move(stores)));
    s = tir::For(v, 0, 16, Bind::kVector, s);
    s = tir::For(u, 0, Index(unroll), Bind::kUnroll, s);
    f.body = tir::For(j, 0, Index((n + 16 * unroll - 1) / (16 * unroll)), Bind::kSerial, s);
  }

  Counts Finished() const {
    Target target;
    target.vector_bits = 512;
    target.masked_vectors = true;
    Result<tir::Function> finished = Finish(f, target);
    EXPECT_TRUE(finished.ok()) << finished.status().ToString();
    Counts counts;
    if (!finished.ok()) return counts;
    EXPECT_TRUE(tir::Verify(*finished).ok()) << tir::ToText(*finished);
    std::vector<float> x(n), y(n, 0);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i + 1);
    void* args[] = {x.data(), y.data()};
    EXPECT_TRUE(tir::Interpret(*finished, args).ok()) << tir::ToText(*finished);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], 2 * x[i]) << i;
    Count(finished->body, &counts);
    return counts;
  }
};

TEST(PeelTest, OnlyTheLastVectorOfARowIsMasked) {
  const Counts counts = Row(197).Finished();
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.plain, 1);
  EXPECT_EQ(counts.masked, 1);
}

// 197 = 3 * 64 + 5: of the last four vectors three hold nothing.
TEST(PeelTest, VectorsBeyondTheRowVanish) {
  const Counts counts = Row(197, 4).Finished();
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.plain, 4);
  EXPECT_EQ(counts.masked, 1);
}

TEST(PeelTest, TwoIterationsLeaveNoLoop) {
  const Counts counts = Row(27).Finished();
  EXPECT_EQ(counts.loops, 0);
  EXPECT_EQ(counts.plain, 1);
  EXPECT_EQ(counts.masked, 1);
}

// 33 = 2 * 16 + 1: one element takes no vector.
TEST(PeelTest, AVectorOfWhichOneLaneIsLeftIsAnElement) {
  const Counts counts = Row(33).Finished();
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.plain, 2);
  EXPECT_EQ(counts.masked, 0);
  EXPECT_EQ(Row(34).Finished().masked, 1);
}

TEST(PeelTest, RowsOfWholeVectorsStayWhole) {
  const Counts counts = Row(192).Finished();
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.plain, 1);
  EXPECT_EQ(counts.masked, 0);
}

TEST(PeelTest, ALargeBodyIsNotDoubled) {
  const Counts counts = Row(197, 1, 40).Finished();
  EXPECT_EQ(counts.plain, 0);
  EXPECT_EQ(counts.masked, 40);
}

// The masked loop need not be the innermost.
TEST(PeelTest, LoopsAroundLoopsArePeeledToo) {
  Row row(197);
  const Expr k = tir::Var(row.f.next_var++, "k");
  const Stmt outer = row.f.body;
  row.f.body = tir::For(outer->var, outer->min, outer->extent, outer->bind,
                        tir::For(k, 0, 3, Bind::kSerial, outer->body()));
  const Counts counts = row.Finished();
  EXPECT_EQ(counts.loops, 3);
  EXPECT_EQ(counts.plain, 1);
  EXPECT_EQ(counts.masked, 1);
}

// A tile that is held in registers, such as a product's, stays one piece of code.
TEST(PeelTest, LoopsAroundBuffersAreLeftAlone) {
  Row row(197);
  tir::Buffer tile{.name = "tile", .dtype = DType::kFloat32, .shape = {16}};
  tile.scope = tir::Scope::kStack;
  row.f.buffers.push_back(tile);
  const Stmt outer = row.f.body;
  row.f.body =
      tir::For(outer->var, outer->min, outer->extent, outer->bind, tir::Allocate(2, outer->body()));
  const Counts counts = row.Finished();
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.plain, 0);
  EXPECT_EQ(counts.masked, 1);
}

}  // namespace
}  // namespace temper::lower
