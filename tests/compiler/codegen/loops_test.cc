// Loops, branches, lets and parallel loops.
#include "tests/compiler/codegen/referee.h"

namespace temper::codegen {
namespace {

using tir::Bind;
using tir::Block;
using tir::Broadcast;
using tir::Expr;
using tir::For;
using tir::Lt;
using tir::Ramp;
using tir::Scope;
using tir::Stmt;
using tir::Store;

constexpr DType kF32 = DType::kFloat32;

// c[i] = number of (i, j) visited, with bounds of j that depend on i and may be empty.
TEST(LoopsTest, BoundsFromOuterVariables) {
  FunctionBuilder f;
  int c = f.Param("c", DType::kInt64, {12, 20}, true), n = f.Param("n", DType::kInt64, {1}, true);
  Expr i = f.NewVar("i"), j = f.NewVar("j");
  Expr low = tir::Max(Expr(3) - i, Expr(0)), high = tir::Min(i * Expr(2), Expr(20));
  Stmt body = Block(
      {Store(c, {i, j}, i * Expr(100) + j), Store(n, {Expr(0)}, f.Read(n, {Expr(0)}) + Expr(1))});
  Stmt all = Block({Store(n, {Expr(0)}, Expr(0)),
                    For(i, 0, 12, Bind::kSerial, For(j, low, high - low, Bind::kSerial, body))});
  ExpectAgree(f.Finish(all), f.outputs());
}

TEST(LoopsTest, ZeroAndOneIterations) {
  FunctionBuilder f;
  int c = f.Param("c", DType::kInt64, {8}, true);
  Expr i = f.NewVar("i"), j = f.NewVar("j"), k = f.NewVar("k");
  Stmt body = Block({For(i, 2, 0, Bind::kSerial, Store(c, {i}, Expr(7))),
                     For(j, 3, 1, Bind::kSerial, Store(c, {j}, j)),
                     For(k, -4, 3, Bind::kSerial, Store(c, {k + Expr(8)}, k))});
  ExpectAgree(f.Finish(body), f.outputs());
}

TEST(LoopsTest, IfElseWithHoistedIndices) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {6, 6}), c = f.Param("c", kF32, {6, 6}, true);
  Expr i = f.NewVar("i"), j = f.NewVar("j");
  Expr flipped = f.Read(a, {Expr(5) - i, tir::FloorDiv(j * Expr(7) + i, Expr(9))});
  Stmt body = tir::If(Lt(f.Read(a, {i, j}), tir::FloatImm(kF32, 0)), Store(c, {i, j}, flipped),
                      tir::If(Lt(i, j), Store(c, {i, j}, f.Read(a, {j, i})),
                              Store(c, {i, j}, tir::FloatImm(kF32, 1))));
  Stmt extra = tir::If(tir::Eq(i, Expr(2)), Store(c, {i, Expr(0)}, flipped));
  ExpectAgree(
      f.Finish(For(i, 0, 6, Bind::kSerial,
                   Block({For(j, 0, 6, Bind::kSerial, body), For(j, 0, 1, Bind::kSerial, extra)}))),
      f.outputs());
}

// The same variable takes several values one after the other, as unrolling leaves it.
TEST(LoopsTest, LetsOfOneVariableDoNotMix) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {10, 40}), c = f.Param("c", kF32, {10, 3}, true);
  Expr i = f.NewVar("i"), x = f.NewVar("x"), m = f.NewVar("m");
  std::vector<Stmt> body;
  for (int u = 0; u < 3; ++u) {
    Expr value = tir::Min(i * Expr(3) + Expr(u), Expr(20));
    Stmt store = Store(c, {i, Expr(u)}, f.Read(a, {i, m}) + f.Read(a, {i, x + Expr(1)}));
    body.push_back(
        tir::LetStmt(x, value, tir::LetStmt(m, tir::FloorMod(x * Expr(5), Expr(13)), store)));
  }
  ExpectAgree(f.Finish(For(i, 0, 10, Bind::kSerial, Block(body))), f.outputs());
}

TEST(LoopsTest, LetOfAFloat) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {8}), c = f.Param("c", kF32, {8, 8}, true);
  Expr i = f.NewVar("i"), j = f.NewVar("j");
  Expr t = tir::Var(77, "t", {kF32, 1});
  Stmt body = tir::LetStmt(t, f.Read(a, {i}) * f.Read(a, {i}),
                           For(j, 0, 8, Bind::kSerial, Store(c, {i, j}, t + f.Read(a, {j}))));
  auto fn = f.Finish(For(i, 0, 8, Bind::kSerial, body));
  fn.next_var = 78;
  ExpectAgree(fn, f.outputs());
}

TEST(LoopsTest, ParallelRowsWithWorkspaceAndOuterValues) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {4, 11, 16}), c = f.Param("c", kF32, {4, 11, 16}, true);
  int w = f.Local("w", kF32, {11, 16}, Scope::kWorkspace);
  int pad = f.Local("pad", kF32, {3}, Scope::kWorkspace);
  int acc = f.Local("acc", kF32, {16}, Scope::kRegister);
  Expr o = f.NewVar("o"), i = f.NewVar("i"), q = f.NewVar("q");
  Expr t = tir::Var(50, "t", {kF32, 1});
  Expr lane = Ramp(Expr(0), 1, 16);
  Expr shift = Broadcast(t + f.Read(pad, {Expr(1)}), 16);
  Stmt tile = tir::Allocate(acc, Block({Store(acc, {lane}, f.Read(a, {o, i, lane}) + shift),
                                        Store(w, {i, lane}, f.Read(acc, {lane}))}));
  Stmt body = Block(
      {Store(pad, {Expr(1)}, tir::Cast(kF32, o)),
       tir::LetStmt(t, f.Read(a, {o, Expr(0), Expr(0)}), For(i, 0, 11, Bind::kParallel, tile)),
       For(q, 0, 11, Bind::kParallel, Store(c, {o, q, lane}, f.Read(w, {Expr(10) - q, lane})))});
  auto fn = f.Finish(For(o, 0, 4, Bind::kSerial, body));
  fn.next_var = 51;
  ExpectAgree(fn, f.outputs());
}

TEST(LoopsTest, ParallelLoopWithMinAndStackOutside) {
  FunctionBuilder f;
  int c = f.Param("c", DType::kInt64, {20}, true);
  Expr i = f.NewVar("i"), o = f.NewVar("o");
  Stmt inner = For(i, o * Expr(5), 5, Bind::kParallel, Store(c, {i}, i * i - o));
  ExpectAgree(f.Finish(For(o, 0, 4, Bind::kSerial, inner)), f.outputs());
}

// Sums kept in memory: a loop holds those whose address it does not change in registers, and must
// not be misled by accesses that overlap, move, or depend on a condition.
TEST(LoopsTest, AccumulatorsInMemory) {
  for (DType d : {kF32, DType::kInt8, DType::kBool}) {
    for (tir::Scope scope : {Scope::kStack, Scope::kWorkspace}) {
      FunctionBuilder f;
      int a = f.Param("a", d, {6, 9, 8}), c = f.Param("c", d, {6, 48}, true);
      int s = f.Local("s", d, {3, 16}, scope), t = f.Local("t", d, {32}, scope);
      int u = f.Local("u", d, {32}, scope), w = f.Local("w", d, {32}, scope);
      Expr i = f.NewVar("i"), k = f.NewVar("k"), x = f.NewVar("x");
      Expr eight = Ramp(Expr(0), 1, 8), all = Ramp(Expr(0), 1, 32);
      Expr row = f.Read(a, {i, k, eight}), one = f.Read(a, {i, k, Expr(3)});
      auto join = [&](const Expr& p, const Expr& q) {
        return d == DType::kBool ? tir::Binary(tir::ExprKind::kXor, p, q) : p + q;
      };
      auto add = [&](int buffer, std::vector<Expr> at, const Expr& v, const Expr& p = Expr()) {
        return Store(buffer, at, join(f.Read(buffer, at), v), p);
      };
      auto zero = [&](int lanes) { return Broadcast(tir::Number(d, 0), lanes); };
      Stmt init =
          Block({Store(s, {Expr(0), Ramp(Expr(0), 1, 16)}, zero(16)),
                 Store(s, {Expr(1), Ramp(Expr(0), 1, 16)}, zero(16)),
                 Store(s, {Expr(2), Ramp(Expr(0), 1, 16)}, zero(16)), Store(t, {all}, zero(32)),
                 Store(u, {all}, zero(32)), Store(w, {all}, zero(32))});
      Stmt body = Block({
          // Apart from each other, one of them scalar and read into all lanes.
          add(s, {Expr(1), eight}, row),
          add(s, {Expr(1), Ramp(Expr(8), 1, 8)}, row),
          add(s, {Expr(2), Expr(5)}, one),
          add(s, {Expr(0), eight}, Broadcast(f.Read(s, {Expr(2), Expr(5)}), 8)),
          // Overlapping.
          add(t, {eight}, row),
          add(t, {Ramp(Expr(4), 1, 8)}, row),
          // One that stays, one that moves.
          add(u, {Expr(2)}, one),
          add(u, {k}, one),
          // Sometimes; and by a let's value.
          add(w, {Expr(0)}, one, Lt(k, Expr(4))),
          tir::LetStmt(x, k + Expr(1), add(w, {x}, one)),
      });
      auto put = [&](int at, int buffer, std::vector<Expr> from) {
        return Store(c, {i, Ramp(Expr(at), 1, 8)}, f.Read(buffer, std::move(from)));
      };
      Stmt out = Block({put(0, s, {Expr(0), eight}), put(8, s, {Expr(1), eight}),
                        put(16, s, {Expr(2), eight}), put(24, t, {Ramp(Expr(2), 1, 8)}),
                        put(32, u, {eight}), put(40, w, {eight})});
      Stmt nest = Block({init, For(k, 0, 9, Bind::kSerial, body), out});
      for (int b : {s, t, u, w}) {
        if (scope == Scope::kStack) nest = tir::Allocate(b, nest);
      }
      ExpectAgree(f.Finish(For(i, 0, 6, Bind::kSerial, nest)), f.outputs());
    }
  }
}

// Nested parallel loops run as one; the interpreter's rules do not allow them, so plain numbers.
TEST(LoopsTest, NestedParallelLoopsAreOne) {
  FunctionBuilder f;
  int c = f.Param("c", DType::kInt64, {3, 4, 5}, true);
  Expr i = f.NewVar("i"), j = f.NewVar("j"), k = f.NewVar("k");
  Stmt body = For(k, 0, 5, Bind::kParallel,
                  Store(c, {i, j + Expr(-2), k}, i * Expr(100) + j * Expr(10) + k));
  auto fn = f.Finish(For(i, 0, 3, Bind::kParallel, For(j, 2, 4, Bind::kParallel, body)));
  auto kernel = Kernel::Build(fn, f.outputs(), DetectTarget());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  std::vector<int64_t> out(60, -1);
  EXPECT_EQ((*kernel)->Run({out.data()}), 0);
  for (int n = 0; n < 60; ++n) {
    EXPECT_EQ(out[n], n / 20 * 100 + (n / 5 % 4 + 2) * 10 + n % 5) << n;
  }
}

// A matmul with every kind of edge at once: masked columns, a reduction in blocks, a workspace.
TEST(LoopsTest, MatmulWithTails) {
  constexpr int64_t kM = 13, kN = 37, kK = 29;
  for (int lanes : {4, 8, 16}) {
    FunctionBuilder f;
    int a = f.Param("a", kF32, {kM, kK}), b = f.Param("b", kF32, {kK, kN});
    int c = f.Param("c", kF32, {kM, kN}, true);
    int packed = f.Local("packed", kF32, {(kN + lanes - 1) / lanes, kK, lanes}, Scope::kWorkspace);
    Expr j = f.NewVar("j"), i = f.NewVar("i"), k = f.NewVar("k"), p = f.NewVar("p"),
         q = f.NewVar("q");
    int acc = f.Local("acc", kF32, {lanes}, Scope::kRegister);
    int64_t panels = (kN + lanes - 1) / lanes;
    auto mask = [&](const Expr& at) {
      return Lt(Ramp(at * Expr(lanes), 1, lanes), Broadcast(Expr(kN), lanes));
    };
    Expr lane = Ramp(Expr(0), 1, lanes);
    Stmt pack = For(
        p, 0, panels, Bind::kSerial,
        For(q, 0, kK, Bind::kSerial,
            Store(packed, {p, q, lane}, f.Read(b, {q, Ramp(p * Expr(lanes), 1, lanes)}, mask(p)))));
    Expr product = Broadcast(f.Read(a, {i, k}), lanes) * f.Read(packed, {j, k, lane});
    Stmt tile = tir::Allocate(
        acc, Block({Store(acc, {lane}, Broadcast(tir::FloatImm(kF32, 0), lanes)),
                    For(k, 0, kK, Bind::kSerial, Store(acc, {lane}, f.Read(acc, {lane}) + product)),
                    Store(c, {i, Ramp(j * Expr(lanes), 1, lanes)},
                          tir::Max(f.Read(acc, {lane}), Broadcast(tir::FloatImm(kF32, 0), lanes)),
                          mask(j))}));
    Stmt body =
        Block({pack, For(j, 0, panels, Bind::kParallel, For(i, 0, kM, Bind::kSerial, tile))});
    RefereeOptions o;
    o.float_tolerance = 2e-5;
    ExpectAgree(f.Finish(body), f.outputs(), o);
  }
}

}  // namespace
}  // namespace temper::codegen
