// Sums over the same rows become one pass over them.
#include "compiler/lower/jam.h"

#include <gtest/gtest.h>

#include "compiler/tir/interpreter.h"
#include "compiler/tir/printer.h"
#include "compiler/tir/verify.h"
#include "tests/compiler/lower/statements.h"

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::Index;
using tir::Scope;
using tir::Stmt;
using tir::StmtKind;

constexpr int64_t kRows = 3, kColumns = 12, kLanes = 4;
enum Buffer { kX, kY, kSum, kSquares, kSumParts, kSquareParts };

// sum[r] = the sum of x[r, j], squares[r] = that of x[r, j]^2 + more, both by parts in registers;
// y[r] = sum[r] + squares[r].
struct TwoSums {
  tir::Function f;
  int64_t lanes[2] = {kLanes, kLanes};
  bool reads_sum = false;  // the second sum adds the first one
  std::vector<Stmt> between;

  TwoSums() {
    auto add = [&](const char* name, std::vector<int64_t> shape, Scope scope, int param = -1) {
      f.buffers.push_back(
          {.name = name, .shape = std::move(shape), .scope = scope, .param = param});
    };
    add("x", {kRows, kColumns}, Scope::kParam, 0);
    add("y", {kRows}, Scope::kParam, 1);
    add("sum", {kRows}, Scope::kStack);
    add("squares", {kRows}, Scope::kStack);
    f.params = {kX, kY};
  }

  Expr Var(const char* name) { return tir::Var(f.next_var++, name); }

  static Stmt Serial(const Expr& var, int64_t extent, const Stmt& body, Bind bind = Bind::kSerial) {
    return tir::For(var, 0, Index(extent), bind, body);
  }

  Stmt Sum(int which) {
    const int result = which == 0 ? kSum : kSquares, parts = which == 0 ? kSumParts : kSquareParts;
    const int64_t n = lanes[which];
    f.buffers.push_back({.name = "parts", .shape = {n}, .scope = Scope::kRegister});
    const Expr zero = tir::FloatImm(DType::kFloat32, 0);
    const Expr r = Var("r"), j = Var("j"), u = Var("u"), i = Var("i"), k = Var("k");
    Expr x = Read(kX, {r, j * Index(n) + u});
    if (which == 1) x = x * x;
    if (which == 1 && reads_sum) x = x + Read(kSum, {r});
    const Stmt clear = Serial(i, n, tir::Store(parts, {i}, zero), Bind::kUnroll);
    const Stmt add = Serial(
        j, kColumns / n, Serial(u, n, tir::Store(parts, {u}, Read(parts, {u}) + x), Bind::kUnroll));
    const Stmt join =
        Serial(k, n, tir::Store(result, {r}, Read(result, {r}) + Read(parts, {k})), Bind::kUnroll);
    const Stmt body = tir::Block(
        {tir::Store(result, {r}, zero), tir::Allocate(parts, tir::Block({clear, add, join}))});
    return Serial(r, kRows, body);
  }

  std::vector<float> Run() const {
    EXPECT_TRUE(tir::Verify(f).ok()) << tir::ToText(f);
    std::vector<float> x(kRows * kColumns), y(kRows);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    void* args[] = {x.data(), y.data()};
    EXPECT_TRUE(tir::Interpret(f, args).ok()) << tir::ToText(f);
    return y;
  }

  // By how many loops there are fewer; the values must stay.
  int Jammed(int registers = 32) {
    std::vector<Stmt> all = {Sum(0)};
    all.insert(all.end(), between.begin(), between.end());
    all.push_back(Sum(1));
    const Expr r = Var("r");
    all.push_back(Serial(r, kRows, tir::Store(kY, {r}, Read(kSum, {r}) + Read(kSquares, {r}))));
    f.body = tir::Block(std::move(all));
    for (int b : {kSum, kSquares}) f.body = tir::Allocate(b, f.body);
    const std::vector<float> before = Run();
    const int loops = Count(f.body, StmtKind::kFor);
    Target target;
    target.vector_bits = 128;
    target.vector_registers = registers;
    f = JamReductions(f, target);
    EXPECT_EQ(Run(), before) << tir::ToText(f);
    return loops - Count(f.body, StmtKind::kFor);
  }
};

TEST(JamTest, TwoSumsBecomeOnePass) { EXPECT_EQ(TwoSums().Jammed(), 5); }

TEST(JamTest, ASumThatReadsTheOtherStays) {
  TwoSums t;
  t.reads_sum = true;
  EXPECT_EQ(t.Jammed(), 0);
}

TEST(JamTest, WhereShapesPartOnlyTheLoopsAroundAreOne) {
  TwoSums t;
  t.lanes[1] = 2;
  EXPECT_EQ(t.Jammed(), 1);
}

TEST(JamTest, SumsThatFillTheRegistersStay) { EXPECT_EQ(TwoSums().Jammed(4), 0); }

TEST(JamTest, WhatReadsOneSumStaysBehindIt) {
  TwoSums t;
  // Either sum may pass one that reads the other, none may pass one that reads both.
  const Expr sum = Read(kSum, {Index(0)});
  t.between = {tir::Store(kY, {Index(0)}, sum)};
  EXPECT_EQ(t.Jammed(), 5);
  TwoSums both;
  both.between = {tir::Store(kSquares, {Index(0)}, sum)};
  EXPECT_EQ(both.Jammed(), 0);
}

}  // namespace
}  // namespace temper::lower
