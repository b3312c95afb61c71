// Every operation on every element type, scalar and vector, against the interpreter.
#include "tests/compiler/codegen/referee.h"

namespace temper::codegen {
namespace {

using tir::Bind;
using tir::Expr;
using tir::ExprKind;
using tir::For;
using tir::Ramp;
using tir::Store;

constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                          DType::kInt8,    DType::kInt16,   DType::kInt32,   DType::kInt64,
                          DType::kUInt8,   DType::kUInt16,  DType::kUInt32,  DType::kUInt64};
constexpr int kCount = 48;

// out[i] = f(a[i], b[i]) with `lanes` elements at a time.
template <typename F>
void Check(DType in, int lanes, const RefereeOptions& options, F&& body) {
  FunctionBuilder f;
  int a = f.Param("a", in, {kCount}), b = f.Param("b", in, {kCount});
  Expr i = f.NewVar("i");
  Expr at = lanes == 1 ? i : Ramp(i * Expr(lanes), 1, lanes);
  Expr value = body(f.Read(a, {at}), f.Read(b, {at}));
  int c = f.Param("c", value->type().dtype, {kCount}, true);
  auto fn = f.Finish(For(i, 0, kCount / lanes, Bind::kSerial, Store(c, {at}, value)));
  ExpectAgree(fn, f.outputs(), options);
}

class OpsTest : public ::testing::TestWithParam<DType> {
 protected:
  RefereeOptions Options() const {
    RefereeOptions o;
    if (IsUnsignedInt(GetParam())) o.low = 0;
    return o;
  }
};

TEST_P(OpsTest, Arithmetic) {
  for (int lanes : {1, 4, 16}) {
    SCOPED_TRACE(lanes);
    Check(GetParam(), lanes, Options(), [](Expr a, Expr b) { return a + b; });
    Check(GetParam(), lanes, Options(), [](Expr a, Expr b) { return a - b; });
    Check(GetParam(), lanes, Options(), [](Expr a, Expr b) { return a * b; });
    Check(GetParam(), lanes, Options(), [](Expr a, Expr b) { return tir::Min(a, b); });
    Check(GetParam(), lanes, Options(), [](Expr a, Expr b) { return tir::Max(a, b); });
    Check(GetParam(), lanes, Options(),
          [&](Expr a, Expr b) { return tir::Div(a, tir::Max(b, tir::Number(GetParam(), 1))); });
    Check(GetParam(), lanes, Options(), [&](Expr a, Expr b) { return a * b + a; });
    Check(GetParam(), lanes, Options(), [&](Expr a, Expr b) { return a - a * b; });
  }
}

TEST_P(OpsTest, LanesCombine) {
  for (int lanes : {2, 8, 16}) {
    for (ExprKind k : {ExprKind::kAdd, ExprKind::kMul, ExprKind::kMin, ExprKind::kMax}) {
      SCOPED_TRACE(lanes);
      FunctionBuilder f;
      int a = f.Param("a", GetParam(), {kCount}), c = f.Param("c", GetParam(), {kCount}, true);
      Expr i = f.NewVar("i");
      Expr all = tir::ReduceLanes(k, f.Read(a, {Ramp(i * Expr(lanes), 1, lanes)}));
      std::vector<tir::Stmt> body = {For(i, 0, kCount / lanes, Bind::kSerial, Store(c, {i}, all))};
      Expr j = f.NewVar("j");
      body.push_back(For(j, kCount / lanes, kCount - kCount / lanes, Bind::kSerial,
                         Store(c, {j}, tir::Number(GetParam(), 0))));
      auto fn = f.Finish(tir::Block(std::move(body)));
      ExpectAgree(fn, f.outputs(), Options());
    }
  }
}

// Tails of every length, on either side of a comparison.
TEST(TailMaskTest, LanesBelowAndAbove) {
  for (int lanes : {2, 8, 16}) {
    FunctionBuilder f;
    const int a = f.Param("a", DType::kFloat32, {kCount});
    std::vector<tir::Stmt> body;
    for (ExprKind k : {ExprKind::kLt, ExprKind::kLe}) {
      for (bool ramp_first : {true, false}) {
        for (int bound : {-3, 0, 1, 7, 16, 29, 47, 48, 60}) {
          const int c = f.Param("c", DType::kFloat32, {kCount}, true);
          const Expr i = f.NewVar("i"), at = Ramp(i * Expr(lanes), 1, lanes);
          const Expr edge = tir::Broadcast(Expr(bound), lanes);
          const Expr on = ramp_first ? tir::Binary(k, at, edge) : tir::Binary(k, edge, at);
          const Expr zero = tir::Broadcast(tir::FloatImm(DType::kFloat32, 0), lanes);
          const Expr value = tir::Select(on, f.Read(a, {at}), zero);
          body.push_back(For(i, 0, kCount / lanes, Bind::kSerial, Store(c, {at}, value)));
        }
      }
    }
    const auto fn = f.Finish(tir::Block(std::move(body)));
    ExpectAgree(fn, f.outputs(), {});
  }
}

TEST_P(OpsTest, Comparisons) {
  for (int lanes : {1, 16}) {
    for (ExprKind k : {ExprKind::kEq, ExprKind::kNe, ExprKind::kLt, ExprKind::kLe}) {
      Check(GetParam(), lanes, Options(), [&](Expr a, Expr b) { return tir::Binary(k, a, b); });
      Check(GetParam(), lanes, Options(),
            [&](Expr a, Expr b) { return tir::Select(tir::Binary(k, a, b), a, b); });
    }
    Check(GetParam(), lanes, Options(), [&](Expr a, Expr b) {
      return tir::Or(tir::And(tir::Lt(a, b), tir::Lt(tir::Number(GetParam(), 1), a)),
                     tir::Not(tir::Le(a, b)));
    });
  }
}

TEST_P(OpsTest, CastsToEveryType) {
  for (DType to : kAll) {
    for (int lanes : {1, 8}) {
      SCOPED_TRACE(std::string(Name(to)) + " x" + std::to_string(lanes));
      Check(GetParam(), lanes, Options(), [&](Expr a, Expr) { return tir::Cast(to, a); });
    }
  }
  Check(GetParam(), 16, Options(), [](Expr a, Expr) { return tir::Cast(DType::kBool, a); });
  Check(GetParam(), 16, Options(),
        [&](Expr a, Expr b) { return tir::Cast(GetParam(), tir::Lt(a, b)); });
}

TEST_P(OpsTest, CastsSaturateAndDropNaN) {
  if (!IsFloat(GetParam())) {
    Check(GetParam(), 4, Options(), [](Expr a, Expr b) { return tir::Cast(DType::kInt64, a - b); });
    return;
  }
  RefereeOptions wide;
  wide.low = -1e5;
  wide.high = 1e5;
  for (DType to : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kUInt64}) {
    Check(GetParam(), 4, wide, [&](Expr a, Expr b) {
      Expr nan = tir::Div(a - a, a - a);
      return tir::Cast(to, tir::Select(tir::Lt(a, b), nan, a * a));
    });
  }
}

TEST_P(OpsTest, IntegerOperations) {
  if (IsFloat(GetParam())) {
    Check(GetParam(), 16, Options(),
          [](Expr a, Expr) { return tir::Call(tir::Intrinsic::kAbs, {a}); });
    return;
  }
  DType d = GetParam();
  for (int lanes : {1, 4, 16}) {
    auto number = [&](double v) { return tir::Number(d, v); };
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::FloorDiv(a, number(3)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::FloorMod(a, number(3)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::FloorDiv(a, number(4)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::FloorMod(a, number(4)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Div(a, number(3)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Mod(a, number(3)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Div(a, number(4)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Mod(a, number(4)); });
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Call(tir::Intrinsic::kAbs, {a}); });
    Check(d, lanes, Options(),
          [&](Expr a, Expr b) { return tir::Call(tir::Intrinsic::kPow, {a, b}); });
    Check(d, lanes, Options(), [&](Expr a, Expr b) {  // exponents of all bits
      return tir::Call(tir::Intrinsic::kPow, {a, b * number(0x35)});
    });
    for (ExprKind k : {ExprKind::kAnd, ExprKind::kOr, ExprKind::kXor}) {
      Check(d, lanes, Options(), [&](Expr a, Expr b) { return tir::Binary(k, a, b); });
    }
    Check(d, lanes, Options(), [&](Expr a, Expr) { return tir::Not(a); });
    RefereeOptions small = Options();
    small.low = 0;
    for (ExprKind k : {ExprKind::kShl, ExprKind::kShr}) {
      Check(d, lanes, small, [&](Expr a, Expr b) { return tir::Binary(k, a, b); });
    }
  }
}

TEST_P(OpsTest, FloatMinAndMaxPassNaNOn) {
  if (!IsFloat(GetParam())) return;
  DType d = GetParam();
  for (int lanes : {1, 4, 16}) {
    for (bool max : {false, true}) {
      auto pick = [&](Expr x, Expr y) { return max ? tir::Max(x, y) : tir::Min(x, y); };
      auto nan_if = [&](Expr c, Expr x) { return tir::Select(c, tir::Div(x - x, x - x), x); };
      Check(d, lanes, Options(), [&](Expr a, Expr b) { return pick(nan_if(tir::Lt(a, b), a), b); });
      Check(d, lanes, Options(), [&](Expr a, Expr b) { return pick(a, nan_if(tir::Lt(a, b), b)); });
      Check(d, lanes, Options(),
            [&](Expr a, Expr b) { return pick(nan_if(tir::Lt(a, b), a), tir::Number(d, 0)); });
      Check(d, lanes, Options(),
            [&](Expr a, Expr b) { return pick(tir::Number(d, 0), nan_if(tir::Lt(a, b), a)); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, OpsTest, ::testing::ValuesIn(kAll),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(OpsBoolTest, LogicOnStoredBools) {
  for (int lanes : {1, 16}) {
    RefereeOptions o;
    Check(DType::kBool, lanes, o, [](Expr a, Expr b) { return tir::And(a, b); });
    Check(DType::kBool, lanes, o, [](Expr a, Expr b) { return tir::Or(a, tir::Not(b)); });
    Check(DType::kBool, lanes, o, [](Expr a, Expr b) { return tir::Binary(ExprKind::kXor, a, b); });
    Check(DType::kBool, lanes, o, [](Expr a, Expr b) { return tir::Binary(ExprKind::kEq, a, b); });
    Check(DType::kBool, lanes, o, [](Expr a, Expr) { return tir::Cast(DType::kInt32, a); });
  }
}

// The interpreter refuses what has no value; compiled code must not trap on it.
TEST(OpsTrapTest, DivisionByZeroAndOverflowGiveNumbers) {
  for (DType d : {DType::kInt32, DType::kInt64, DType::kUInt8}) {
    FunctionBuilder f;
    int a = f.Param("a", d, {4}), b = f.Param("b", d, {4}), c = f.Param("c", d, {4}, true);
    Expr i = f.NewVar("i");
    auto fn = f.Finish(
        For(i, 0, 4, Bind::kSerial, Store(c, {i}, tir::Div(f.Read(a, {i}), f.Read(b, {i})))));
    auto k = Kernel::Build(fn, f.outputs(), DetectTarget());
    ASSERT_TRUE(k.ok()) << k.status().ToString();
    alignas(8) char x[32], y[32], z[32];
    for (int j = 0; j < 4; ++j) SetElement(x, d, j, 7), SetElement(y, d, j, 0);
    if (d == DType::kInt32) {
      reinterpret_cast<int32_t*>(x)[1] = INT32_MIN;
      reinterpret_cast<int32_t*>(y)[1] = -1;
    }
    EXPECT_EQ((*k)->Run({x, y, z}), 0);
    EXPECT_EQ(Element(z, d, 0), 7);
    if (d == DType::kInt32) {
      EXPECT_EQ(Element(z, d, 1), INT32_MIN);
    }
  }
}

}  // namespace
}  // namespace temper::codegen
