// Numbers of a row are loaded in front of the loop over it.
#include "compiler/lower/hoist.h"

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

constexpr int64_t kRows = 2, kColumns = 5;
enum Buffer { kX, kY, kMean };

// for r: mean[r] = x[r, 0]; for r: for j: `inner`. The variables in front of the loop over j.
int Hoisted(const std::function<Stmt(const Expr& r, const Expr& j)>& inner) {
  tir::Function f;
  f.buffers.push_back({.name = "x", .shape = {kRows, kColumns}, .param = 0});
  f.buffers.push_back({.name = "y", .shape = {kRows, kColumns}, .param = 1});
  f.buffers.push_back({.name = "mean", .shape = {kRows}, .scope = Scope::kStack});
  f.params = {kX, kY};
  const Expr q = tir::Var(f.next_var++, "q"), r = tir::Var(f.next_var++, "r"),
             j = tir::Var(f.next_var++, "j");
  const Stmt mean =
      tir::For(q, 0, Index(kRows), Bind::kSerial, tir::Store(kMean, {q}, Read(kX, {q, Index(0)})));
  const Stmt row = tir::For(j, 0, Index(kColumns), Bind::kSerial, inner(r, j));
  f.body =
      tir::Allocate(kMean, tir::Block({mean, tir::For(r, 0, Index(kRows), Bind::kSerial, row)}));
  auto run = [&] {
    EXPECT_TRUE(tir::Verify(f).ok()) << tir::ToText(f);
    std::vector<float> x(kRows * kColumns), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i);
    void* args[] = {x.data(), y.data()};
    EXPECT_TRUE(tir::Interpret(f, args).ok()) << tir::ToText(f);
    return y;
  };
  const std::vector<float> before = run();
  f = HoistScalars(f);
  EXPECT_EQ(run(), before) << tir::ToText(f);
  return Count(f.body, StmtKind::kLet);
}

TEST(HoistTest, AScalarOfTheRowIsAVariable) {
  EXPECT_EQ(Hoisted([](const Expr& r, const Expr& j) {
              const Expr mean = Read(kMean, {r});
              return tir::Store(kY, {r, j}, Read(kX, {r, j}) - mean + mean * mean);
            }),
            2);  // the mean, and its square
}

TEST(HoistTest, WhatTheLoopWritesOrMovesStays) {
  EXPECT_EQ(Hoisted([](const Expr& r, const Expr& j) {
              return tir::Block({tir::Store(kY, {r, j}, Read(kX, {r, j}) - Read(kMean, {r})),
                                 tir::Store(kMean, {r}, Read(kX, {r, j}))});
            }),
            0);
  EXPECT_EQ(Hoisted([](const Expr& r, const Expr& j) {
              return tir::Store(kY, {r, j}, Read(kMean, {tir::FloorMod(j, Index(kRows))}));
            }),
            0);
}

TEST(HoistTest, WhatMovesAndIsReadSeveralTimesIsAVariableInTheLoop) {
  const auto at = [](const Expr& j) { return Read(kMean, {tir::FloorMod(j, Index(kRows))}); };
  EXPECT_EQ(Hoisted([&](const Expr& r, const Expr& j) {
              return tir::Block({tir::Store(kY, {r, j}, at(j)),
                                 tir::Store(kY, {r, j}, Read(kY, {r, j}) + at(j))});
            }),
            1);
}

TEST(HoistTest, ParametersAndWhatIsConditionalStay) {
  EXPECT_EQ(Hoisted([](const Expr& r, const Expr& j) {
              return tir::Store(kY, {r, j}, Read(kX, {r, Index(0)}));
            }),
            0);
  EXPECT_EQ(Hoisted([](const Expr& r, const Expr& j) {
              return tir::If(tir::Lt(j, Index(3)), tir::Store(kY, {r, j}, Read(kMean, {r})));
            }),
            0);
}

}  // namespace
}  // namespace temper::lower
