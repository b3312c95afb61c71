// Loads and stores: vectors, masks, strides, gathers, halos, register buffers.
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
constexpr DType kTypes[] = {kF32,          DType::kFloat64, DType::kInt8,   DType::kUInt16,
                            DType::kInt64, DType::kBool,    DType::kFloat16};

Expr Upto(const Expr& base, int64_t limit, int lanes) {
  return Lt(Ramp(base, 1, lanes), Broadcast(Expr(limit), lanes));
}

TEST(AccessTest, MaskedTailTouchesNothingElse) {
  for (DType d : kTypes) {
    for (int lanes : {4, 8, 16}) {
      FunctionBuilder f;
      int a = f.Param("a", d, {37}), c = f.Param("c", d, {37}, true);
      Expr i = f.NewVar("i");
      Expr at = Ramp(i * Expr(lanes), 1, lanes), mask = Upto(i * Expr(lanes), 37, lanes);
      Stmt body = Store(c, {at}, f.Read(a, {at}, mask), mask);
      ExpectAgree(f.Finish(For(i, 0, (37 + lanes - 1) / lanes, Bind::kSerial, body)), f.outputs());
    }
  }
}

// The columns come before the rows, so that what a store writes too much stays.
TEST(AccessTest, MaskedTailOfOneNarrowedElementTouchesNothingElse) {
  for (DType wide : {DType::kInt64, DType::kUInt32, DType::kInt16}) {
    for (DType narrow : {DType::kInt32, DType::kUInt16, DType::kInt8, DType::kUInt8}) {
      if (ByteSize(narrow) >= ByteSize(wide)) continue;
      for (int lanes : {4, 8, 16, 32}) {
        const int64_t columns = 2 * lanes + 1;
        FunctionBuilder f;
        int a = f.Param("a", wide, {6, columns}), c = f.Param("c", narrow, {6, columns}, true);
        std::vector<Stmt> parts;
        for (int k = 0; k < 3; ++k) {
          Expr i = f.NewVar("i");
          Expr at = Ramp(Expr(k * lanes), 1, lanes), mask = Upto(Expr(k * lanes), columns, lanes);
          Stmt body = Store(c, {i, at}, tir::Cast(narrow, f.Read(a, {i, at}, mask)), mask);
          parts.push_back(For(i, 0, 6, Bind::kSerial, body));
        }
        RefereeOptions options;
        options.low = IsUnsignedInt(wide) ? 0 : -30000;
        options.high = 30000;
        ExpectAgree(f.Finish(Block(parts)), f.outputs(), options);
      }
    }
  }
}

TEST(AccessTest, MaskedLoadGivesZeros) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {20}), c = f.Param("c", kF32, {32}, true);
  Expr i = f.NewVar("i");
  Expr at = Ramp(i * Expr(16), 1, 16);
  Stmt body = Store(c, {at}, f.Read(a, {at}, Upto(i * Expr(16), 20, 16)));
  ExpectAgree(f.Finish(For(i, 0, 2, Bind::kSerial, body)), f.outputs());
}

TEST(AccessTest, ScalarPredicates) {
  for (DType d : kTypes) {
    FunctionBuilder f;
    int a = f.Param("a", d, {10}), c = f.Param("c", d, {16}, true);
    Expr i = f.NewVar("i");
    Expr inside = Lt(i, Expr(10));
    Stmt body = Block({Store(c, {i}, f.Read(a, {i - Expr(2)}, tir::And(inside, Lt(Expr(1), i)))),
                       Store(c, {i + Expr(1)}, f.Read(a, {i}, inside), Lt(i, Expr(3)))});
    ExpectAgree(f.Finish(For(i, 0, 15, Bind::kSerial, body)), f.outputs());
  }
}

// select(c, x if c, number): one load, of the element or of the number.
TEST(AccessTest, PaddedLoads) {
  for (DType d : kTypes) {
    for (double number : {0.0, 1.0}) {
      FunctionBuilder f;
      int a = f.Param("a", d, {10, 16}), c = f.Param("c", d, {14, 64}, true);
      Expr i = f.NewVar("i");
      Expr inside = tir::And(Lt(Expr(1), i), Lt(i, Expr(12)));
      auto padded = [&](const Expr& condition, std::vector<Expr> at) {
        Expr pad = tir::Number(d, number);
        int lanes = condition->lanes();
        return tir::Select(condition, f.Read(a, std::move(at), condition),
                           lanes > 1 ? Broadcast(pad, lanes) : pad);
      };
      Expr row = i - Expr(2);
      std::vector<Stmt> body = {
          Store(c, {i, Expr(0)}, padded(inside, {row, i})),
          Store(c, {i, Ramp(Expr(1), 1, 16)},
                padded(Broadcast(inside, 16), {row, Ramp(Expr(0), 1, 16)})),
          Store(c, {i, Ramp(Expr(17), 1, 8)},
                padded(Broadcast(inside, 8), {row, Broadcast(Expr(3), 8)})),
          Store(c, {i, Ramp(Expr(25), 1, 8)},
                padded(Broadcast(inside, 8), {row, Ramp(Expr(0), 2, 8)})),
          Store(c, {i, Ramp(Expr(33), 1, 16)}, padded(Upto(i, 16, 16), {Expr(4), Ramp(i, 1, 16)})),
      };
      ExpectAgree(f.Finish(For(i, 0, 14, Bind::kSerial, Block(body))), f.outputs());
    }
  }
}

TEST(AccessTest, StridedReversedAndBroadcastLanes) {
  for (DType d : kTypes) {
    FunctionBuilder f;
    int a = f.Param("a", d, {8, 40}), c = f.Param("c", d, {8, 64}, true);
    Expr i = f.NewVar("i");
    std::vector<Stmt> body = {
        Store(c, {i, Ramp(Expr(0), 1, 8)}, f.Read(a, {i, Ramp(Expr(1), 3, 8)})),
        Store(c, {i, Ramp(Expr(8), 1, 8)}, f.Read(a, {i, Ramp(Expr(20), -2, 8)})),
        Store(c, {i, Ramp(Expr(16), 1, 8)}, f.Read(a, {i, Broadcast(i, 8)})),
        Store(c, {i, Ramp(Expr(24), 2, 8)}, f.Read(a, {i, Ramp(i, 1, 8)})),
        Store(c, {i, Ramp(Expr(39), -2, 8)}, f.Read(a, {Ramp(Expr(0), 1, 8), Broadcast(i, 8)})),
        Store(c, {Ramp(Expr(0), 1, 8), Broadcast(i + Expr(40), 8)},
              f.Read(a, {i, Ramp(Expr(4), 1, 8)})),
    };
    ExpectAgree(f.Finish(For(i, 0, 8, Bind::kSerial, Block(body))), f.outputs());
  }
}

// Neighbouring elements of rows that lie apart: blocks of four rows of four, whole and with a tail;
// a run of six has one block and two loads by themselves.
// x[ramp(i, 2, lanes)]: neither load may pass the last lane's element, on or off.
TEST(AccessTest, EverySecondElement) {
  for (DType d : kTypes) {
    for (int lanes : {4, 8, 16}) {
      const int last = 2 * (lanes - 1);
      FunctionBuilder f;
      int a = f.Param("a", d, {3, last + 2}), c = f.Param("c", d, {6, lanes}, true);
      Expr i = f.NewVar("i"), at = Ramp(Expr(0), 1, lanes);
      auto row = [&](const Expr& r) { return std::vector<Expr>{r, at}; };
      auto second = [&](int64_t first, const Expr& mask) {
        return f.Read(a, {i, Ramp(Expr(first), 2, lanes)}, mask);
      };
      const Expr low = tir::Le(Broadcast(Expr(2), lanes), at);
      const Expr both = tir::And(Broadcast(Lt(i, Expr(1)), lanes), Upto(Expr(0), lanes - 1, lanes));
      const Expr one = tir::Number(d, 1);
      std::vector<Stmt> body = {
          Store(c, row(i), second(1, Expr())),
          Store(c, row(i + Expr(3)), tir::Select(both, second(2, both), Broadcast(one, lanes)),
                low),
      };
      ExpectAgree(f.Finish(For(i, 0, 3, Bind::kSerial, Block(body))), f.outputs());
    }
  }
}

TEST(AccessTest, TransposedBlocks) {
  for (DType d : {kF32, DType::kInt32, DType::kFloat64}) {
    for (int lanes : {4, 8, 16}) {
      for (int run : {4, 6, 8}) {
        for (int on : {lanes, lanes - 3}) {
          FunctionBuilder f;
          int a = f.Param("a", d, {lanes, 40}), c = f.Param("c", d, {40, 16}, true);
          Expr i = f.NewVar("i");
          Expr rows = Ramp(Expr(0), 1, lanes);
          Expr mask = on == lanes ? Expr() : Upto(Expr(0), on, lanes);
          std::vector<Stmt> body;
          for (int u = 0; u < run; ++u) {
            Expr column = i * Expr(run) + Expr(u);
            Expr value = f.Read(a, {rows, Broadcast(column, lanes)}, mask);
            body.push_back(Store(c, {column, rows}, value + value, mask));
          }
          ExpectAgree(f.Finish(For(i, 0, 40 / run, Bind::kSerial, Block(body))), f.outputs());
        }
      }
    }
  }
}

// What a block of statements writes and reads again is read in its turn.
TEST(AccessTest, TransposedBlocksSeeTheStoresBeforeThem) {
  FunctionBuilder f;
  int x = f.Param("x", kF32, {16}), c = f.Param("c", kF32, {16, 8}, true);
  Expr i = f.NewVar("i"), rows = Ramp(Expr(0), 1, 16);
  std::vector<Stmt> body = {Store(c, {rows, Broadcast(Expr(0), 16)}, f.Read(x, {rows}))};
  for (int u = 0; u < 4; ++u) {
    body.push_back(Store(c, {rows, Broadcast(Expr(u + 1), 16)},
                         f.Read(c, {rows, Broadcast(Expr(u), 16)}) + f.Read(x, {rows})));
  }
  ExpectAgree(f.Finish(For(i, 0, 2, Bind::kSerial, Block(body))), f.outputs());
}

// c[i, step l + j] = a[i, j, l]: what fills the gaps of a store comes beside it.
TEST(AccessTest, StoresThatFillTheGapsOfEachOther) {
  for (DType d : {kF32, DType::kInt32, DType::kFloat64}) {
    for (int lanes : {4, 8, 16}) {
      for (int step : {2, 3, 4, 5}) {
        for (bool all : {true, false}) {  // of them
          FunctionBuilder f;
          int a = f.Param("a", d, {4, 5, 16}), c = f.Param("c", d, {4, 80}, true);
          Expr i = f.NewVar("i");
          std::vector<Stmt> body;
          for (int j = all ? 0 : 1; j < step; ++j) {
            Expr value = f.Read(a, {i, Expr(j), Ramp(Expr(0), 1, lanes)});
            body.push_back(Store(c, {i, Ramp(Expr(j), step, lanes)}, value + value));
          }
          std::swap(body.front(), body.back());
          ExpectAgree(f.Finish(For(i, 0, 4, Bind::kSerial, Block(body))), f.outputs());
        }
      }
    }
  }
}

TEST(AccessTest, StoresThatFillTheGapsOfEachOtherAreWhole) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {3, 16}), c = f.Param("c", kF32, {48}, true);
  std::vector<Stmt> body;
  for (int j = 0; j < 3; ++j) {
    body.push_back(Store(c, {Ramp(Expr(j), 3, 16)}, f.Read(a, {Expr(j), Ramp(Expr(0), 1, 16)})));
  }
  const tir::Function fn = f.Finish(Block(body));
  auto compiler = MakeLlvmCompiler(*ParseTarget("x86-64-v4"));
  ASSERT_TRUE(compiler.ok());
  auto source = MakeSource(fn, f.outputs(), "k");
  auto assembly = (*compiler)->Assembly(source->kernel);
  ASSERT_TRUE(assembly.ok());
  EXPECT_EQ(assembly->find("vextract"), std::string::npos) << *assembly;
  EXPECT_NE(assembly->find("2ps"), std::string::npos) << *assembly;  // vpermi2ps or vpermt2ps
}

TEST(AccessTest, GatherAndScatterThroughAnIndexTensor) {
  for (DType d : kTypes) {
    for (DType index : {DType::kInt32, DType::kInt64, DType::kUInt8}) {
      for (int lanes : {1, 4, 16}) {
        FunctionBuilder f;
        int n = f.Param("n", index, {32}), a = f.Param("a", d, {8}),
            c = f.Param("c", d, {32}, true);
        Expr i = f.NewVar("i");
        Expr at = lanes == 1 ? i : Ramp(i * Expr(lanes), 1, lanes);
        Expr from = tir::Cast(DType::kInt64, f.Read(n, {at}));
        Expr odd = tir::Eq(tir::FloorMod(from, Expr(2)), Expr(1));
        Expr seven = lanes == 1 ? Expr(31) - i : Ramp(Expr(31) - i * Expr(lanes), -1, lanes);
        Stmt body = Block({Store(c, {at}, f.Read(a, {from})),
                           Store(c, {seven}, f.Read(a, {from + Expr(1)}, odd), odd)});
        RefereeOptions o;
        o.low = 0;
        o.high = 6;
        ExpectAgree(f.Finish(For(i, 0, 32 / lanes, Bind::kSerial, body)), f.outputs(), o);
      }
    }
  }
}

TEST(AccessTest, HaloIsReachedByNegativeIndices) {
  FunctionBuilder f;
  int x = f.Param("x", kF32, {5, 7, 4}, false, {1, 2, 0}, {1, 2, 0});
  int y = f.Param("y", kF32, {5, 7, 4}, true, {0, 1, 0}, {0, 1, 0});
  Expr i = f.NewVar("i"), j = f.NewVar("j"), p = f.NewVar("p"), q = f.NewVar("q");
  Expr lane = Ramp(Expr(0), 1, 4);
  Expr sum = f.Read(y, {i, j, lane}) + f.Read(x, {i + p - Expr(1), j + q - Expr(2), lane});
  Stmt reduce =
      For(p, 0, 3, Bind::kSerial, For(q, 0, 5, Bind::kSerial, Store(y, {i, j, lane}, sum)));
  Stmt init = Store(y, {i, j, lane}, Broadcast(tir::FloatImm(kF32, 0), 4));
  Stmt halo = Block({Store(y, {i, Expr(-1), lane}, Broadcast(tir::FloatImm(kF32, 1), 4)),
                     Store(y, {i, Expr(7), lane}, Broadcast(tir::FloatImm(kF32, 2), 4))});
  Stmt body = For(i, 0, 5, Bind::kSerial,
                  Block({For(j, 0, 7, Bind::kSerial, Block({init, reduce})), halo}));
  ExpectAgree(f.Finish(body), f.outputs());
}

// acc[r, c] += a[r] * b[c] over k, in a tile whose columns are vectors of two widths.
TEST(AccessTest, RegisterTileWithTailColumns) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {3, 9}), b = f.Param("b", kF32, {9, 24}),
      c = f.Param("c", kF32, {3, 24}, true);
  int acc = f.Local("acc", kF32, {3, 24}, Scope::kRegister);
  Expr k = f.NewVar("k");
  std::vector<Stmt> init, step, store;
  for (int r = 0; r < 3; ++r) {
    for (auto [at, lanes] : {std::pair{0, 16}, std::pair{16, 4}, std::pair{20, 4}}) {
      Expr lane = Ramp(Expr(at), 1, lanes);
      init.push_back(Store(acc, {Expr(r), lane}, Broadcast(tir::FloatImm(kF32, r), lanes)));
      Expr x = Broadcast(f.Read(a, {Expr(r), k}), lanes);
      step.push_back(
          Store(acc, {Expr(r), lane}, f.Read(acc, {Expr(r), lane}) + x * f.Read(b, {k, lane})));
      store.push_back(Store(c, {Expr(r), lane}, f.Read(acc, {Expr(r), lane})));
    }
  }
  Stmt body = tir::Allocate(
      acc, Block({Block(init), For(k, 0, 9, Bind::kSerial, Block(step)), Block(store)}));
  RefereeOptions o;
  o.float_tolerance = 2e-5;  // the products are fused into the sums
  ExpectAgree(f.Finish(body), f.outputs(), o);
}

TEST(AccessTest, PartsOfRegisterSlots) {
  for (DType d : {kF32, DType::kInt32, DType::kBool}) {
    FunctionBuilder f;
    int a = f.Param("a", d, {16}), c = f.Param("c", d, {48}, true);
    int t = f.Local("t", d, {16}, Scope::kRegister);
    Expr whole = Ramp(Expr(0), 1, 16), part = Ramp(Expr(4), 1, 4);
    Expr mask = Upto(Expr(0), 2, 4);
    std::vector<Stmt> body = {
        Store(t, {whole}, f.Read(a, {whole})),
        Store(c, {whole}, f.Read(t, {whole})),
        Store(t, {part}, f.Read(a, {Ramp(Expr(0), 1, 4)})),
        Store(t, {Expr(15)}, f.Read(t, {Expr(1)})),
        Store(t, {Ramp(Expr(8), 1, 4)}, f.Read(a, {part}), mask),
        Store(t, {Expr(14)}, f.Read(a, {Expr(0)}), Lt(f.Read(a, {Expr(1)}), f.Read(a, {Expr(2)}))),
        Store(c, {Ramp(Expr(16), 1, 16)}, f.Read(t, {whole})),
        Store(c, {Ramp(Expr(32), 1, 4)}, f.Read(t, {part})),
        Store(c, {Ramp(Expr(36), 1, 4)}, f.Read(t, {Broadcast(Expr(7), 4)})),
        Store(c, {Ramp(Expr(40), 1, 4)}, f.Read(t, {part}, mask)),
        Store(c, {Ramp(Expr(44), 1, 4)}, f.Read(t, {Ramp(Expr(12), 1, 4)})),
    };
    if (d == DType::kBool) body.erase(body.begin() + 5);
    ExpectAgree(f.Finish(tir::Allocate(t, Block(body))), f.outputs());
  }
}

TEST(AccessTest, RegisterBufferWithVariableOrStraddlingIndexLivesInMemory) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {16}), c = f.Param("c", kF32, {32}, true);
  int t = f.Local("t", kF32, {16}, Scope::kRegister),
      u = f.Local("u", kF32, {16}, Scope::kRegister);
  int s = f.Local("s", kF32, {2, 16}, Scope::kStack);
  Expr i = f.NewVar("i");
  Stmt body = Block({
      For(i, 0, 16, Bind::kSerial, Store(t, {i}, f.Read(a, {i}) + tir::FloatImm(kF32, 1))),
      Store(u, {Ramp(Expr(0), 1, 8)}, f.Read(t, {Ramp(Expr(8), 1, 8)})),
      Store(u, {Ramp(Expr(8), 1, 8)}, f.Read(t, {Ramp(Expr(0), 1, 8)})),
      Store(s, {Expr(0), Ramp(Expr(0), 1, 16)}, f.Read(t, {Ramp(Expr(0), 1, 16)})),
      Store(c, {Ramp(Expr(0), 1, 8)}, f.Read(u, {Ramp(Expr(4), 1, 8)})),
      Store(c, {Ramp(Expr(8), 1, 8)}, f.Read(s, {Expr(0), Ramp(Expr(3), 1, 8)})),
      Store(c, {Ramp(Expr(16), 1, 16)}, Broadcast(f.Read(s, {Expr(0), Expr(5)}), 16)),
  });
  ExpectAgree(f.Finish(tir::Allocate(t, tir::Allocate(u, tir::Allocate(s, body)))), f.outputs());
}

TEST(AccessTest, AnAddressThroughMemoryIsReadAnew) {
  FunctionBuilder f;
  int n = f.Param("n", DType::kInt64, {1}), a = f.Param("a", kF32, {8}),
      c = f.Param("c", kF32, {3}, true);
  int t = f.Local("t", DType::kInt64, {1}, Scope::kWorkspace);
  Expr at = f.Read(t, {Expr(0)});
  Stmt body =
      Block({Store(t, {Expr(0)}, f.Read(n, {Expr(0)})), Store(c, {Expr(0)}, f.Read(a, {at})),
             Store(t, {Expr(0)}, at + Expr(1)), Store(c, {Expr(1)}, f.Read(a, {at})),
             Store(t, {Expr(0)}, at + Expr(1)), Store(c, {Expr(2)}, f.Read(a, {at}))});
  RefereeOptions o;
  o.low = 0;
  o.high = 5;
  ExpectAgree(f.Finish(body), f.outputs(), o);
}

TEST(AccessTest, PrefetchChangesNothing) {
  FunctionBuilder f;
  int a = f.Param("a", kF32, {64}), c = f.Param("c", kF32, {64}, true);
  Expr i = f.NewVar("i");
  Stmt body = Block({tir::Prefetch(a, {i + Expr(16)}, 3), Store(c, {i}, f.Read(a, {i}))});
  auto fn = f.Finish(For(i, 0, 64, Bind::kSerial, body));
  auto kernel = Kernel::Build(fn, f.outputs(), DetectTarget());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  std::vector<float> x(64, 3.0f), y(64);
  EXPECT_EQ((*kernel)->Run({x.data(), y.data()}), 0);
  EXPECT_EQ(x, y);
}

TEST(AccessTest, TooMuchStackIsRefused) {
  FunctionBuilder f;
  int c = f.Param("c", kF32, {1}, true);
  int s = f.Local("big", kF32, {100000}, Scope::kStack);
  Stmt body = Block(
      {Store(s, {Expr(0)}, tir::FloatImm(kF32, 1)), Store(c, {Expr(0)}, f.Read(s, {Expr(0)}))});
  auto kernel = Kernel::Build(f.Finish(tir::Allocate(s, body)), f.outputs(), DetectTarget());
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.status().message().find("'big'"), std::string::npos);
}

}  // namespace
}  // namespace temper::codegen
