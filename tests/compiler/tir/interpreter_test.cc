#include "compiler/tir/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/rng.h"

namespace temper::tir {
namespace {

// A function under construction: parameters first, then whatever the test adds.
struct Builder {
  Function f;

  int Param(std::string name, DType dtype, std::vector<int64_t> shape) {
    Buffer b{.name = std::move(name), .dtype = dtype, .shape = std::move(shape)};
    b.param = static_cast<int>(f.params.size());
    f.params.push_back(static_cast<int>(f.buffers.size()));
    f.buffers.push_back(b);
    return f.params.back();
  }
  int Local(std::string name, DType dtype, std::vector<int64_t> shape, Scope scope) {
    Buffer b{.name = std::move(name), .dtype = dtype, .shape = std::move(shape), .scope = scope};
    f.buffers.push_back(b);
    return static_cast<int>(f.buffers.size()) - 1;
  }
  Expr NewVar(const char* name, Type type = kIndex) { return Var(f.next_var++, name, type); }
  Expr At(int buffer, std::vector<Expr> indices, Expr predicate = Expr()) const {
    return Load(buffer, f.buffers[buffer].dtype, indices, predicate);
  }
};

// out[0] = e, of e's type; returns the status and the value.
template <typename T>
Result<T> Evaluate(const Expr& e) {
  Builder b;
  const int out = b.Param("out", e->type().dtype, {1});
  b.f.body = Store(out, {0}, e);
  T value{};
  void* args[] = {&value};
  TEMPER_RETURN_IF_ERROR(Interpret(b.f, args));
  return value;
}

Expr I(DType dtype, int64_t v) { return IntImm({dtype, 1}, v); }
// Nodes as they are, without the builders' folding.
Expr Raw(ExprKind kind, Expr a, Expr b) {
  Expr ops[2] = {a, b};
  return ExprNode::Make(kind, a->type(), ops);
}

TEST(InterpreterTest, LanesCombineHalvesWithHalves) {
  const Expr ramp = Ramp(I(DType::kInt8, 60), 1, 4);  // 60 61 62 63
  EXPECT_EQ(*Evaluate<int8_t>(ReduceLanes(ExprKind::kAdd, ramp)), int8_t(246));
  EXPECT_EQ(*Evaluate<int8_t>(ReduceLanes(ExprKind::kMul, ramp)),
            int8_t(int8_t(60 * 62) * int8_t(61 * 63)));
  EXPECT_EQ(*Evaluate<int8_t>(ReduceLanes(ExprKind::kMin, ramp)), 60);
  EXPECT_EQ(*Evaluate<int8_t>(ReduceLanes(ExprKind::kMax, ramp)), 63);
  // 1e8, 1, -1e8, 1: in order the first one would be lost.
  auto f = [](double v) { return Broadcast(FloatImm(DType::kFloat32, v), 4); };
  auto before = [](int64_t n) { return Lt(Ramp(Index(0), 1, 4), Broadcast(Index(n), 4)); };
  const Expr lanes =
      Select(before(1), f(1e8), Select(And(Not(before(2)), before(3)), f(-1e8), f(1)));
  EXPECT_EQ(*Evaluate<float>(ReduceLanes(ExprKind::kAdd, lanes)), 2);
}

TEST(InterpreterTest, IntegersWrapInTheirOwnWidth) {
  auto add = Raw(ExprKind::kAdd, I(DType::kInt8, 127), I(DType::kInt8, 2));
  EXPECT_EQ(*Evaluate<int8_t>(add), -127);
  auto mul = Raw(ExprKind::kMul, I(DType::kUInt16, 300), I(DType::kUInt16, 300));
  EXPECT_EQ(*Evaluate<uint16_t>(mul), uint16_t(90000));
  auto sub = Raw(ExprKind::kSub, I(DType::kUInt32, 1), I(DType::kUInt32, 2));
  EXPECT_EQ(*Evaluate<uint32_t>(sub), 0xffffffffu);
  // The wrapped value, not the wide one, goes into the next operation.
  auto half = Raw(ExprKind::kDiv, sub, I(DType::kUInt32, 2));
  EXPECT_EQ(*Evaluate<uint32_t>(half), 0x7fffffffu);
  auto lowest = Raw(ExprKind::kDiv, I(DType::kInt32, INT32_MIN), I(DType::kInt32, -1));
  EXPECT_EQ(*Evaluate<int32_t>(lowest), INT32_MIN);
}

TEST(InterpreterTest, DivisionsRoundAsStated) {
  auto a = I(DType::kInt64, -7), b = I(DType::kInt64, 2);
  EXPECT_EQ(*Evaluate<int64_t>(Raw(ExprKind::kDiv, a, b)), -3);
  EXPECT_EQ(*Evaluate<int64_t>(Raw(ExprKind::kMod, a, b)), -1);
  EXPECT_EQ(*Evaluate<int64_t>(Raw(ExprKind::kFloorDiv, a, b)), -4);
  EXPECT_EQ(*Evaluate<int64_t>(Raw(ExprKind::kFloorMod, a, b)), 1);
}

TEST(InterpreterTest, FloatsAreComputedInTheirType) {
  const float x = 1.0f / 3.0f;
  EXPECT_EQ(*Evaluate<float>(FloatImm(DType::kFloat32, x) * FloatImm(DType::kFloat32, x)), x * x);
  const double y = 1.0 / 3.0;
  EXPECT_EQ(*Evaluate<double>(FloatImm(DType::kFloat64, y) * FloatImm(DType::kFloat64, y)), y * y);
  // 2049 is no float16: the sum rounds to even.
  auto half = FloatImm(DType::kFloat16, 2048) + FloatImm(DType::kFloat16, 1);
  EXPECT_EQ(*Evaluate<uint16_t>(half), 0x6800);
  EXPECT_EQ(*Evaluate<float>(Cast(DType::kFloat32, half)), 2048.0f);
  auto brain = FloatImm(DType::kBFloat16, 256) + FloatImm(DType::kBFloat16, 1);
  EXPECT_EQ(*Evaluate<uint16_t>(brain), 0x4380);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto max = Max(FloatImm(DType::kFloat32, 1), FloatImm(DType::kFloat32, nan));
  EXPECT_TRUE(std::isnan(*Evaluate<float>(max)));
  auto call = Call(Intrinsic::kExp, {FloatImm(DType::kFloat32, 0.5)});
  EXPECT_EQ(*Evaluate<float>(call), std::exp(0.5f));
  auto pow = Call(Intrinsic::kPow, {FloatImm(DType::kFloat64, 2), FloatImm(DType::kFloat64, 10)});
  EXPECT_EQ(*Evaluate<double>(pow), 1024.0);
  EXPECT_TRUE(*Evaluate<bool>(Call(Intrinsic::kIsNan, {FloatImm(DType::kFloat32, nan)})));
}

TEST(InterpreterTest, PowersOfIntegersWrap) {
  auto power = [](DType t, int64_t a, int64_t b) {
    return Call(Intrinsic::kPow, {I(t, a), I(t, b)});
  };
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, -3, 3)), -27);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, 7, 0)), 1);
  // 3^41 = 36472996377170786403, over 2^65
  EXPECT_EQ(*Evaluate<int64_t>(power(DType::kInt64, 3, 41)), -420491770248316829);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, 2, 32)), 0);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, -1, INT32_MAX)), -1);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, -1, -2)), 1);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, 1, -7)), 1);
  EXPECT_EQ(*Evaluate<int32_t>(power(DType::kInt32, 5, -1)), 0);
  EXPECT_EQ(*Evaluate<uint8_t>(power(DType::kUInt8, 3, 200)), 161);
}

TEST(InterpreterTest, CastsTruncateSaturateAndRound) {
  auto cast = [](DType to, double v) { return Cast(to, FloatImm(DType::kFloat64, v)); };
  EXPECT_EQ(*Evaluate<int32_t>(cast(DType::kInt32, -2.9)), -2);
  EXPECT_EQ(*Evaluate<int8_t>(cast(DType::kInt8, 1000)), 127);
  EXPECT_EQ(*Evaluate<uint8_t>(cast(DType::kUInt8, -5)), 0);
  EXPECT_EQ(*Evaluate<int64_t>(cast(DType::kInt64, -1e300)), INT64_MIN);
  EXPECT_EQ(*Evaluate<uint64_t>(cast(DType::kUInt64, 1e19)), 10000000000000000000u);
  EXPECT_EQ(*Evaluate<int32_t>(cast(DType::kInt32, std::nan(""))), 0);
  // Rounded once: through float32 this would become 2050.
  EXPECT_EQ(*Evaluate<uint16_t>(cast(DType::kFloat16, 2049 + 1e-9)), 0x6801);
  EXPECT_EQ(*Evaluate<uint8_t>(Cast(DType::kUInt8, I(DType::kInt32, -1))), 255);
  EXPECT_TRUE(*Evaluate<bool>(Cast(DType::kBool, I(DType::kInt32, 256))));
}

TEST(InterpreterTest, FaultsAreErrors) {
  auto zero = Raw(ExprKind::kDiv, I(DType::kInt32, 1), I(DType::kInt32, 0));
  EXPECT_EQ(Evaluate<int32_t>(zero).status().code(), Code::kInvalidArgument);
  auto shift = Raw(ExprKind::kShl, I(DType::kInt32, 1), I(DType::kInt32, 32));
  EXPECT_EQ(Evaluate<int32_t>(shift).status().code(), Code::kInvalidArgument);

  Builder b;
  const int x = b.Param("data", DType::kFloat32, {2, 3});
  Expr i = b.NewVar("i");
  b.f.body = For(i, 0, 4, Bind::kSerial, Store(x, {1, i}, FloatImm(DType::kFloat32, 1)));
  float data[6] = {};
  void* args[] = {data};
  Status status = Interpret(b.f, args);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(status.message(), "index 1 of buffer data is 3, outside [0, 3)");

  b.f.body =
      For(i, 0, int64_t{1} << 40, Bind::kSerial, Store(x, {0, 0}, FloatImm(DType::kFloat32, 1)));
  EXPECT_EQ(Interpret(b.f, args, {.max_steps = 1000}).code(), Code::kResourceExhausted);
  EXPECT_EQ(Interpret(b.f, {}).code(), Code::kInvalidArgument);
  void* none[] = {nullptr};
  EXPECT_EQ(Interpret(b.f, none).code(), Code::kInvalidArgument);
}

TEST(InterpreterTest, HaloIsPartOfTheBuffer) {
  Builder b;
  const int x = b.Param("x", DType::kInt32, {2});
  b.f.buffers[x].halo_before = {1};
  b.f.buffers[x].halo_after = {2};
  Expr i = b.NewVar("i");
  b.f.body = For(i, -1, 5, Bind::kSerial, Store(x, {i}, Cast(DType::kInt32, i)));
  int32_t data[5] = {};
  void* args[] = {data};
  ASSERT_TRUE(Interpret(b.f, args).ok());
  for (int k = 0; k < 5; ++k) EXPECT_EQ(data[k], k - 1);
  b.f.body = For(i, -2, 5, Bind::kSerial, Store(x, {i}, Cast(DType::kInt32, i)));
  EXPECT_EQ(Interpret(b.f, args).code(), Code::kOutOfRange);
}

TEST(InterpreterTest, TiledVectorMatmulEqualsDirectLoops) {
  constexpr int kM = 4, kN = 20, kK = 7, kLanes = 8;
  Builder b;
  const int x = b.Param("x", DType::kFloat32, {kM, kK});
  const int y = b.Param("y", DType::kFloat32, {kK, kN});
  const int c = b.Param("c", DType::kFloat32, {kM, kN});
  const int acc = b.Local("acc", DType::kFloat32, {kLanes}, Scope::kRegister);
  Expr i = b.NewVar("i"), j = b.NewVar("j"), k = b.NewVar("k");
  Expr lanes = Ramp(0, 1, kLanes);
  Expr columns = Ramp(j * kLanes, 1, kLanes);
  Expr inside = Lt(columns, Broadcast(kN, kLanes));
  Expr product = Broadcast(b.At(x, {i, k}), kLanes) * b.At(y, {k, columns}, inside);
  Stmt tile =
      Block({Store(acc, {lanes}, Broadcast(FloatImm(DType::kFloat32, 0), kLanes)),
             For(k, 0, kK, Bind::kSerial, Store(acc, {lanes}, b.At(acc, {lanes}) + product)),
             Store(c, {Broadcast(i, kLanes), columns}, b.At(acc, {lanes}), inside)});
  b.f.body = For(i, 0, kM, Bind::kParallel, Allocate(acc, For(j, 0, 3, Bind::kSerial, tile)));

  Rng rng(1);
  std::vector<float> xs(kM * kK), ys(kK * kN), out(kM * kN), want(kM * kN);
  for (float& v : xs) v = static_cast<float>(rng.Normal());
  for (float& v : ys) v = static_cast<float>(rng.Normal());
  for (int p = 0; p < kM; ++p) {
    for (int q = 0; q < kN; ++q) {
      float sum = 0;
      for (int r = 0; r < kK; ++r) sum = sum + xs[p * kK + r] * ys[r * kN + q];
      want[p * kN + q] = sum;
    }
  }
  void* args[] = {xs.data(), ys.data(), out.data()};
  Status status = Interpret(b.f, args);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(out, want);
}

TEST(InterpreterTest, ReadsBeforeWritesShow) {
  Builder b;
  const int out = b.Param("out", DType::kFloat32, {2});
  const int stack = b.Local("stack", DType::kFloat32, {1}, Scope::kStack);
  const int work = b.Local("work", DType::kFloat32, {1}, Scope::kWorkspace);
  b.f.workspace_bytes = 64;
  b.f.body =
      Allocate(stack, Block({Store(out, {0}, b.At(stack, {0})), Store(out, {1}, b.At(work, {0}))}));
  float data[2] = {};
  void* args[] = {data};
  ASSERT_TRUE(Interpret(b.f, args).ok());
  EXPECT_TRUE(std::isnan(data[0]));
  EXPECT_TRUE(std::isnan(data[1]));
}

TEST(InterpreterTest, LetsBranchesAndSharedStatements) {
  Builder b;
  const int out = b.Param("out", DType::kInt64, {8});
  Expr i = b.NewVar("i"), t = b.NewVar("t");
  // The very same statement twice: values kept from the first must not leak into the second.
  Stmt bump = LetStmt(t, b.At(out, {i}), Store(out, {i}, t * t + 1));
  Stmt branch = If(Lt(i, 3), bump, Store(out, {i}, Index(-5)));
  b.f.body = For(i, 0, 8, Bind::kUnroll, Block({branch, branch}));
  int64_t data[8] = {};
  for (int k = 0; k < 8; ++k) data[k] = k;
  void* args[] = {data};
  ASSERT_TRUE(Interpret(b.f, args).ok());
  for (int64_t k = 0; k < 8; ++k) {
    const int64_t once = k * k + 1;
    EXPECT_EQ(data[k], k < 3 ? once * once + 1 : -5);
  }
}

TEST(InterpreterTest, EmptyLoopsRunNever) {
  Builder b;
  const int out = b.Param("out", DType::kInt64, {1});
  Expr i = b.NewVar("i"), j = b.NewVar("j");
  b.f.body = For(i, 0, 3, Bind::kSerial,
                 For(j, 0, i - 1, Bind::kSerial, Store(out, {0}, b.At(out, {0}) + 1)));
  int64_t count = 0;
  void* args[] = {&count};
  ASSERT_TRUE(Interpret(b.f, args).ok());
  EXPECT_EQ(count, 1);
}

TEST(InterpreterTest, EveryStoredTypeRoundTrips) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    Builder b;
    const int x = b.Param("x", dtype, {4});
    const int y = b.Param("y", dtype, {4});
    Expr lanes = Ramp(0, 1, 4);
    b.f.body = Store(y, {lanes}, b.At(x, {lanes}));
    alignas(8) uint8_t in[32] = {}, out[32] = {};
    const int bytes = ByteSize(dtype);
    for (int k = 0; k < 4 * bytes; ++k) in[k] = dtype == DType::kBool ? k & 1 : uint8_t(0x31 + k);
    void* args[] = {in, out};
    ASSERT_TRUE(Interpret(b.f, args).ok());
    EXPECT_EQ(std::memcmp(in, out, static_cast<size_t>(4 * bytes)), 0) << Name(dtype);
  }
}

}  // namespace
}  // namespace temper::tir
