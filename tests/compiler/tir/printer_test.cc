#include "compiler/tir/printer.h"

#include <gtest/gtest.h>

namespace temper::tir {
namespace {

TEST(PrinterTest, ExpressionsKeepTheirShape) {
  Expr i = Var(0, "i"), j = Var(1, ""), k = Var(2, "k");
  auto text = [](const Expr& e) { return ToText(e); };
  EXPECT_EQ(text(i * 4 + j), "i * 4 + v1");
  EXPECT_EQ(text((i + j) * k), "(i + v1) * k");
  EXPECT_EQ(text(i - (j - k)), "i - (v1 - k)");
  EXPECT_EQ(text(i - j - k), "i - v1 - k");
  EXPECT_EQ(text(FloorMod(FloorDiv(i, 4), 2)), "i // 4 %% 2");
  EXPECT_EQ(text(And(Lt(i, j), Or(Eq(j, k), Not(Le(k, i))))), "i < v1 && (v1 == k || !(k <= i))");
  EXPECT_EQ(text(Min(i, Select(Lt(i, j), j, k))), "min(i, select(i < v1, v1, k))");
  EXPECT_EQ(text(FloatImm(DType::kFloat32, 0.1f)), "0.1f");
  EXPECT_EQ(text(FloatImm(DType::kFloat64, 0.1)), "0.1d");
  EXPECT_EQ(text(FloatImm(DType::kFloat16, 2)), "2:float16");
  EXPECT_EQ(text(IntImm({DType::kInt8, 1}, -3)), "-3:int8");
  EXPECT_EQ(text(Cast(DType::kFloat32, i)), "float32(i)");
  Expr index[] = {Ramp(i * 8, 1, 8)};
  EXPECT_EQ(text(Load(3, DType::kFloat32, index, Lt(index[0], Broadcast(20, 8)))),
            "b3[ramp(i * 8, 1, 8)] where (ramp(i * 8, 1, 8) < broadcast(20, 8))");
}

TEST(PrinterTest, AFunctionIsIndentedAndTellsNamesakesApart) {
  Function f;
  f.name = "scale";
  f.buffers.push_back(
      {.name = "x", .shape = {4, 8}, .halo_before = {0, 1}, .halo_after = {0, 1}, .param = 0});
  f.buffers.push_back({.name = "t", .shape = {8}, .scope = Scope::kWorkspace});
  f.buffers.push_back({.name = "t", .shape = {8}, .scope = Scope::kRegister});
  f.params = {0};
  f.workspace_bytes = 64;
  f.next_var = 3;
  Expr i = Var(0, "i"), j = Var(1, "i"), s = Var(2, "s");
  Expr at[] = {i, j};
  Expr x = Load(0, DType::kFloat32, at);
  Stmt inner = For(j, 0, 8, Bind::kUnroll,
                   Block({Prefetch(0, {i + 1, j}, 3), Store(2, {j}, x), Store(0, {i, j}, x + x)}));
  f.body = For(i, 1, 3, Bind::kParallel,
               Allocate(2, If(Lt(i, 2), inner, LetStmt(s, i + i, Store(1, {s}, x)))));
  EXPECT_EQ(ToText(f),
            "func scale(x: float32[4, 8] halo [0, 1]..[0, 1]) {\n"
            "  workspace 64 bytes\n"
            "  t#1: float32[8] workspace at 0\n"
            "  parallel i#0 in 1..4 {\n"
            "    alloc t#2: float32[8] register\n"
            "    if (i#0 < 2) {\n"
            "      unroll i#1 in 0..8 {\n"
            "        prefetch x[i#0 + 1, i#1] locality 3\n"
            "        t#2[i#1] = x[i#0, i#1]\n"
            "        x[i#0, i#1] = x[i#0, i#1] + x[i#0, i#1]\n"
            "      }\n"
            "    } else {\n"
            "      let s = i#0 + i#0\n"
            "      t#1[s] = x[i#0, i#1]\n"
            "    }\n"
            "  }\n"
            "}\n");
}

}  // namespace
}  // namespace temper::tir
