#include "compiler/tir/verify.h"

#include <gtest/gtest.h>

namespace temper::tir {
namespace {

Expr Raw(ExprKind kind, Type type, std::vector<Expr> operands, int64_t payload = 0) {
  return ExprNode::Make(kind, type, operands, payload);
}
Expr F(double v) { return FloatImm(DType::kFloat32, v); }

// x: float32[8], a parameter; r: float32[4], a register buffer; i and j, variables.
struct VerifyTest : testing::Test {
  VerifyTest() {
    f.name = "f";
    f.buffers.push_back({.name = "x", .shape = {8}, .param = 0});
    f.buffers.push_back({.name = "r", .shape = {4}, .scope = Scope::kRegister});
    f.params = {0};
    f.next_var = 2;
  }
  Expr X(const Expr& at) {
    Expr index[] = {at};
    return Load(0, DType::kFloat32, index);
  }
  Stmt StoreX(const Expr& value) { return Store(0, {0}, value); }
  void Good(Stmt body) {
    f.body = std::move(body);
    Status status = Verify(f);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  void Refuses(Stmt body, const std::string& why) {
    f.body = std::move(body);
    Refuses(why);
  }
  void Refuses(const std::string& why) {
    Status status = Verify(f);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  }

  Function f;
  Expr i = Var(0, "i"), j = Var(1, "j");
};

TEST_F(VerifyTest, AcceptsWhatIsRight) {
  Good(For(i, 0, 8, Bind::kParallel,
           Allocate(1, Block({Store(1, {0}, X(i)), Store(0, {i}, F(1)), Prefetch(0, {i + 9}, 1),
                              LetStmt(j, i + 1, If(Lt(j, 8), Store(0, {j}, F(2))))}))));
  EXPECT_TRUE(VerifyFinished(f).ok());
  // A variable may be defined again after its scope, as unrolled copies do.
  Stmt loop = For(i, 0, 8, Bind::kSerial, Store(0, {i}, F(1)));
  Good(Block({loop, loop}));
}

TEST_F(VerifyTest, NamesThePlace) {
  f.body = For(i, 0, 8, Bind::kSerial, Store(0, {i, i}, F(1)));
  EXPECT_EQ(Verify(f).message(), "f: for i: store to x: 2 indices into buffer x of rank 1");
}

TEST_F(VerifyTest, RefusesWrongTables) {
  f.body = Block({});
  auto with = [&](auto edit, const std::string& why) {
    Function saved = f;
    edit();
    Refuses(why);
    f = saved;
  };
  with([&] { f.body = nullptr; }, "no body");
  with([&] { f.next_var = -1; }, "next_var");
  with([&] { f.params = {7}; }, "parameter 0 is buffer 7");
  with([&] { f.params = {1}; }, "says otherwise");
  with([&] { f.buffers[0].param = 3; }, "says otherwise");
  with([&] { f.params.clear(); }, "parameter 0 of 0");
  with([&] { f.buffers[0].shape = {0}; }, "out of bounds");
  with([&] { f.buffers[0].shape = {int64_t{1} << 39, 4}; }, "too many elements");
  with([&] { f.buffers[0].shape.assign(17, 1); }, "rank 17");
  with([&] { f.buffers[0].halo_before = {1}; }, "halo");
  with([&] { f.buffers[0].halo_before = f.buffers[0].halo_after = {-1}; }, "out of bounds");
  with([&] { f.buffers[1].shape = {1 << 20}; }, "thread memory");
  with([&] { f.buffers.resize(kMaxBuffers + 1, f.buffers[1]); }, "buffers; at most");
  f.buffers[1].scope = Scope::kWorkspace;
  with([&] {}, "past the 0 bytes");
  f.workspace_bytes = 128;
  with([&] { f.buffers[1].workspace_offset = 8; }, "multiple of 64");
  with([&] { f.buffers[1].workspace_offset = 128; }, "past the 128 bytes");
  EXPECT_TRUE(Verify(f).ok());
}

TEST_F(VerifyTest, RefusesWrongAccesses) {
  Refuses(Store(9, {0}, F(1)), "buffer 9 of a table of 2");
  Refuses(StoreX(Load(9, DType::kFloat32, std::vector<Expr>{0})), "buffer 9 of a table of 2");
  Refuses(StoreX(Load(0, DType::kFloat32, std::vector<Expr>{})), "0 indices into buffer x");
  Refuses(Store(0, {0}, Index(1)), "a value of int64 in a buffer of float32");
  Refuses(StoreX(Cast(DType::kFloat32, Load(0, DType::kInt8, std::vector<Expr>{0}))),
          "a load of int8");
  Refuses(Store(0, {F(0)}, F(1)), "no int64");
  Refuses(StoreX(X(F(0))), "an index of type float32");
  Refuses(Store(1, {0}, F(1)), "outside its allocation");
  Refuses(StoreX(Load(1, DType::kFloat32, std::vector<Expr>{0})), "outside its allocation");
  Refuses(Allocate(1, For(i, 0, 4, Bind::kParallel, Store(1, {0}, F(1)))),
          "belongs to the thread outside");
  Refuses(Allocate(0, Block({})), "only stack and register");
  Refuses(Allocate(5, Block({})), "buffer 5");
  Refuses(Allocate(1, Allocate(1, Block({}))), "allocated already");
  Refuses(Store(0, {0}, Broadcast(F(1), 4)), "a vector stored at a scalar index");
  Refuses(Store(0, {Ramp(0, 1, 8)}, Broadcast(F(1), 4)), "an index with other lanes");
  Refuses(Store(0, {0}, F(1), Index(1)), "a predicate that is no bool");
  Refuses(Store(0, {Ramp(0, 1, 4)}, Broadcast(F(1), 4), Bool(true)), "a predicate that is no bool");
  Refuses(Prefetch(0, {0}, 4), "locality");
  Refuses(Prefetch(0, {Ramp(0, 1, 4)}, 1), "a vector index");
}

TEST_F(VerifyTest, RefusesWrongVariables) {
  Refuses(StoreX(X(i)), "variable i is used before it is defined");
  Refuses(StoreX(X(Var(2, "k"))), "not below next_var");
  Refuses(For(i, 0, 4, Bind::kSerial, StoreX(X(Var(0, "i", {DType::kInt32, 1})))), "another type");
  Refuses(For(i, 0, 4, Bind::kSerial, For(i, 0, 4, Bind::kSerial, Block({}))), "defined already");
  Refuses(For(Var(9, "k"), 0, 4, Bind::kSerial, Block({})), "not below next_var");
  Refuses(For(Index(1), 0, 4, Bind::kSerial, Block({})), "no variable");
  Refuses(LetStmt(i, F(1), Block({})), "a value of another type");
  Refuses(Block({LetStmt(i, 1, Block({})), StoreX(X(i))}), "before it is defined");
}

TEST_F(VerifyTest, RefusesWrongStatements) {
  Refuses(For(i, 0, F(4), Bind::kSerial, Block({})), "scalar integers");
  Refuses(For(i, IntImm({DType::kInt32, 1}, 0), 4, Bind::kSerial, Block({})), "scalar integers");
  Refuses(For(i, 0, 4, Bind::kParallel, For(j, 0, 4, Bind::kParallel, Block({}))),
          "parallel loop inside another");
  Refuses(If(Raw(ExprKind::kAdd, kIndex, {1, 1}), Block({})), "no scalar bool");
  Refuses(For(i, 0, 4, Bind::kSerial, nullptr), "null statement");
  Refuses(For(i, Expr(), 4, Bind::kSerial, Block({})), "null expression");
  Stmt deep = StoreX(F(1));
  for (int d = 0; d <= kMaxStmtDepth; ++d) deep = If(Eq(X(0), F(0)), deep);
  Refuses(deep, "nest deeper");
}

TEST_F(VerifyTest, RefusesWrongExpressions) {
  const Type f32{DType::kFloat32, 1}, b1 = kCondition;
  Refuses(StoreX(Raw(ExprKind::kAdd, f32, {F(1)})), "1 operands where 2 belong");
  Refuses(StoreX(Raw(ExprKind::kAdd, f32, {F(1), Index(1)})), "an operand of type int64");
  Refuses(StoreX(Raw(ExprKind::kFloorDiv, f32, {F(1), F(1)})), "integer operation on another type");
  Refuses(StoreX(Raw(ExprKind::kAnd, f32, {F(1), F(1)})), "logical operation on floats");
  Refuses(StoreX(Raw(ExprKind::kLt, f32, {F(1), F(1)})), "a comparison that is no bool");
  Refuses(StoreX(Cast(DType::kFloat32, Raw(ExprKind::kAdd, b1, {Bool(true), Bool(true)}))),
          "arithmetic on bool");
  Refuses(StoreX(Raw(ExprKind::kSelect, f32, {Index(1), F(1), F(1)})), "select whose condition");
  Refuses(StoreX(Raw(ExprKind::kSelect, f32, {Bool(true), Index(1), F(1)})), "select whose sides");
  Refuses(StoreX(Raw(ExprKind::kCast, f32, {Ramp(0, 1, 4)})), "a cast that changes lanes");
  Refuses(StoreX(Call(Intrinsic::kExp, {Index(1)})), "exp of int64");
  Refuses(StoreX(Raw(ExprKind::kIntImm, f32, {}, 1)), "integer immediate");
  Refuses(StoreX(Cast(DType::kFloat32, Raw(ExprKind::kIntImm, {DType::kInt8, 1}, {}, 128))),
          "does not fit int8");
  Refuses(StoreX(ExprNode::MakeFloat(kIndex, 1)), "float immediate");
  Refuses(Store(0, {0}, Raw(ExprKind::kRamp, f32.WithLanes(4), {F(1)}, 1)), "a ramp");
  Refuses(Store(0, {0}, Raw(ExprKind::kBroadcast, f32, {F(1)})), "a broadcast to one lane");
  Refuses(Store(0, {0}, Broadcast(F(1), kMaxLanes + 1)), "lanes; at most");
  Expr deep = X(0);
  for (int d = 0; d <= kMaxExprDepth; ++d) deep = deep + deep;
  Refuses(StoreX(deep), "nests deeper");
  Expr wide = X(0);
  for (int d = 0; d < 40; ++d) wide = wide + wide;
  Refuses(StoreX(wide), "more than");
}

TEST_F(VerifyTest, FinishedFunctionsHaveNoAnnotationsLeft) {
  auto refuses = [&](Stmt body, const std::string& why) {
    Good(std::move(body));
    Status status = VerifyFinished(f);
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  };
  refuses(For(i, 0, 8, Bind::kVector, Store(0, {i}, F(1))), "vector or unroll loop is left");
  refuses(For(i, 0, 8, Bind::kUnroll, Store(0, {i}, F(1))), "vector or unroll loop is left");
  refuses(Allocate(1, For(i, 0, 4, Bind::kSerial, Store(1, {i}, F(1)))), "not constant");
  Good(Allocate(1, Store(1, {Ramp(0, 1, 4)}, Broadcast(F(1), 4))));
  EXPECT_TRUE(VerifyFinished(f).ok());
}

TEST(VerifyExprTest, ChecksOneExpression) {
  EXPECT_TRUE(VerifyExpr(Var(0, "i") + 1).ok());
  EXPECT_FALSE(VerifyExpr(Expr()).ok());
}

}  // namespace
}  // namespace temper::tir
