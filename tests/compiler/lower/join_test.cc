// Loops that read row by row what the loops before them wrote.
#include "compiler/lower/join.h"

#include <gtest/gtest.h>

#include <functional>

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

constexpr int64_t kRows = 3, kColumns = 8;
enum Buffer { kX, kY, kE, kSums, kOther };

// e[r, j] = 2 x[r, j]; sums[r] = the sum of e[r, f(j)] for j below `read_columns`;
// y[r] = sums[r] + e[r, 0].
struct TwoNests {
  tir::Function f;
  Expr r[3], j[2];
  int64_t read_columns = kColumns;
  std::function<Expr(const Expr& j)> at = [](const Expr& index) { return index; };
  std::vector<Stmt> between;

  TwoNests() {
    auto add = [&](const char* name, std::vector<int64_t> shape, Scope scope, int param = -1) {
      f.buffers.push_back(
          {.name = name, .shape = std::move(shape), .scope = scope, .param = param});
    };
    add("x", {kRows, kColumns}, Scope::kParam, 0);
    add("y", {kRows}, Scope::kParam, 1);
    add("e", {kRows, kColumns}, Scope::kStack);
    add("sums", {kRows}, Scope::kStack);
    add("other", {kRows, kColumns}, Scope::kStack);
    f.params = {kX, kY};
    for (Expr& v : r) v = tir::Var(f.next_var++, "r");
    for (Expr& v : j) v = tir::Var(f.next_var++, "j");
  }

  void Build() {
    const Expr two = tir::FloatImm(DType::kFloat32, 2), zero = tir::FloatImm(DType::kFloat32, 0);
    Stmt write = tir::Store(kE, {r[0], j[0]}, Read(kX, {r[0], j[0]}) * two);
    write = tir::For(j[0], 0, Index(kColumns), Bind::kSerial, write);
    write = tir::For(r[0], 0, Index(kRows), Bind::kSerial, write);
    Stmt sum = tir::Store(kSums, {r[1]}, Read(kSums, {r[1]}) + Read(kE, {r[1], at(j[1])}));
    sum = tir::For(j[1], 0, Index(read_columns), Bind::kSerial, sum);
    sum = tir::Block({tir::Store(kSums, {r[1]}, zero), sum});
    sum = tir::For(r[1], 0, Index(kRows), Bind::kSerial, sum);
    Stmt last = tir::Store(kY, {r[2]}, Read(kSums, {r[2]}) + Read(kE, {r[2], Index(0)}));
    last = tir::For(r[2], 0, Index(kRows), Bind::kSerial, last);
    std::vector<Stmt> all = {write};
    all.insert(all.end(), between.begin(), between.end());
    all.push_back(sum);
    all.push_back(last);
    f.body = tir::Block(std::move(all));
    for (int b : {kOther, kSums, kE}) f.body = tir::Allocate(b, f.body);
  }

  std::vector<float> Run() const {
    EXPECT_TRUE(tir::Verify(f).ok()) << tir::ToText(f);
    std::vector<float> x(kRows * kColumns), y(kRows);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    void* args[] = {x.data(), y.data()};
    EXPECT_TRUE(tir::Interpret(f, args).ok()) << tir::ToText(f);
    return y;
  }

  // The loops that are left, 5 before; the values must stay.
  int Joined() {
    Build();
    const std::vector<float> before = Run();
    f = JoinLoops(f);
    EXPECT_EQ(Run(), before) << tir::ToText(f);
    return Count(f.body, StmtKind::kFor);
  }
};

TEST(JoinTest, TheReaderTakesTheNestIn) { EXPECT_EQ(TwoNests().Joined(), 3); }

TEST(JoinTest, OtherExtentsStayApart) {
  TwoNests t;
  t.read_columns = kColumns - 1;
  EXPECT_EQ(t.Joined(), 5);
}

TEST(JoinTest, ANeighboursElementStaysApart) {
  TwoNests t;
  t.at = [](const Expr& j) { return Index(kColumns - 1) - j; };
  EXPECT_EQ(t.Joined(), 5);
}

TEST(JoinTest, WhatStandsBetweenMayUseOtherBuffers) {
  TwoNests t;
  t.between = {tir::Store(kOther, {Index(0), Index(0)}, tir::FloatImm(DType::kFloat32, 1))};
  EXPECT_EQ(t.Joined(), 3);
}

TEST(JoinTest, AReaderInBetweenStaysBehindTheNest) {
  TwoNests t;
  t.between = {tir::Store(kOther, {Index(0), Index(0)}, Read(kE, {Index(1), Index(1)}))};
  EXPECT_EQ(t.Joined(), 5);
}

}  // namespace
}  // namespace temper::lower
