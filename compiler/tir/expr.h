// Expressions of the loop IR and of tensor-expression bodies: immutable, shared, typed nodes.
//
// An Expr is an intrusive pointer to an immutable node; copying shares the node, and an edit
// rebuilds the path to the root. Reference counts are atomic, so trees may be shared between
// threads. Index arithmetic is int64 and does not overflow for legal programs. Scalars have one
// lane; a vector expression has the same number of lanes in every operand (a Broadcast lifts).
//
// Integer kFloorDiv and kFloorMod round toward minus infinity (index arithmetic; the divisor is
// positive); kDiv is IEEE division on floats and truncates toward zero on integers, kMod is the
// remainder of the latter. Float kMin and kMax propagate NaN as ONNX's operators do. Floating-
// point multiply and add may be contracted into a fused multiply-add; nothing is reassociated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace temper::tir {

struct Type {
  DType dtype = DType::kInt64;
  int32_t lanes = 1;

  friend bool operator==(const Type&, const Type&) = default;
  Type WithLanes(int32_t n) const { return {dtype, n}; }
};
inline constexpr Type kIndex{DType::kInt64, 1};
inline constexpr Type kCondition{DType::kBool, 1};

enum class ExprKind : uint8_t {
  kIntImm,    // int_value(); any integer or bool dtype, one lane
  kFloatImm,  // float_value()
  kVar,       // var_id(), var_name(); one lane
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEq,  // comparisons give bool
  kNe,
  kLt,
  kLe,
  kAnd,  // on bool: logical; on integers: bitwise
  kOr,
  kXor,
  kShl,
  kShr,          // arithmetic on signed, logical on unsigned
  kNot,          // on bool: logical; on integers: bitwise
  kSelect,       // (condition, then, else); both sides may be evaluated
  kCast,         // (value) to type(); float to integer truncates
  kCall,         // intrinsic() of the operands
  kLoad,         // buffer(); operands: indices, then the predicate if has_predicate()
  kRamp,         // (base): lanes base, base + stride(), base + 2 stride(), ...
  kBroadcast,    // (scalar)
  kReduceLanes,  // (vector): its lanes combined by combiner(), halves with halves; one lane
};

enum class Intrinsic : uint8_t {
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kFloor,
  kCeil,
  kRoundEven,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kPow,    // (base, exponent)
  kFmod,   // (x, y), C's fmod
  kIsNan,  // bool
  kIsInf,  // bool
};
inline constexpr int kIntrinsicCount = static_cast<int>(Intrinsic::kIsInf) + 1;
std::string_view Name(Intrinsic intrinsic);

class ExprNode;

class Expr {
 public:
  Expr() = default;  // null
  Expr(const Expr& o) noexcept : node_(o.node_) { Ref(); }
  Expr(Expr&& o) noexcept : node_(o.node_) { o.node_ = nullptr; }
  Expr& operator=(Expr o) noexcept {
    const ExprNode* n = node_;
    node_ = o.node_;
    o.node_ = n;
    return *this;
  }
  ~Expr() { Unref(); }
  Expr(int value);      // NOLINT: index constants read naturally
  Expr(int64_t value);  // NOLINT

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_; }

 private:
  friend class ExprNode;
  explicit Expr(const ExprNode* node) : node_(node) { Ref(); }
  inline void Ref() const;
  inline void Unref();

  const ExprNode* node_ = nullptr;
};

class ExprNode {
 public:
  ExprKind kind() const { return kind_; }
  Type type() const { return type_; }
  int lanes() const { return type_.lanes; }
  std::span<const Expr> operands() const { return {Operands(), count_}; }
  const Expr& operand(int i) const { return Operands()[i]; }

  int64_t int_value() const { return int_; }                            // kIntImm
  double float_value() const { return float_; }                         // kFloatImm
  int var_id() const { return static_cast<int>(int_); }                 // kVar
  const std::string& var_name() const;                                  // kVar
  Intrinsic intrinsic() const { return static_cast<Intrinsic>(sub_); }  // kCall
  int buffer() const { return static_cast<int>(int_); }  // kLoad: index into the buffer table
  bool has_predicate() const { return sub_ != 0; }       // kLoad
  std::span<const Expr> indices() const {                // kLoad
    return {Operands(), static_cast<size_t>(count_ - sub_)};
  }
  Expr predicate() const { return sub_ ? Operands()[count_ - 1] : Expr(); }  // kLoad
  int64_t stride() const { return int_; }                                    // kRamp
  ExprKind combiner() const { return static_cast<ExprKind>(int_); }          // kReduceLanes

  bool IsInt(int64_t value) const { return kind_ == ExprKind::kIntImm && int_ == value; }

  // The general constructor, for code that rebuilds nodes; no folding.
  static Expr Make(ExprKind kind, Type type, std::span<const Expr> operands, int64_t payload = 0,
                   uint8_t sub = 0);
  static Expr MakeFloat(Type type, double value);
  static Expr MakeVar(Type type, int id, std::string name);
  // The same node with other operands (as many).
  Expr WithOperands(std::span<const Expr> operands) const;

 private:
  friend class Expr;
  ExprNode() = default;
  const Expr* Operands() const { return reinterpret_cast<const Expr*>(this + 1); }
  static void Destroy(const ExprNode* node);

  mutable std::atomic<uint32_t> refs_{0};
  ExprKind kind_{};
  uint8_t sub_ = 0;
  uint16_t count_ = 0;
  Type type_;
  union {
    int64_t int_ = 0;
    double float_;
  };
  const std::string* name_ = nullptr;  // kVar: owned
};

inline void Expr::Ref() const {
  if (node_) node_->refs_.fetch_add(1, std::memory_order_relaxed);
}
inline void Expr::Unref() {
  if (node_ && node_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) ExprNode::Destroy(node_);
}

// Builders. Those on integers fold constants and the identities x+0, x*1, x*0, x/1, x-x.
Expr IntImm(Type type, int64_t value);
inline Expr Index(int64_t value) { return IntImm(kIndex, value); }
inline Expr Bool(bool value) { return IntImm(kCondition, value ? 1 : 0); }
Expr FloatImm(DType dtype, double value);
// A zero, or a number, of any dtype: for integers toward zero, NaN as 0, beyond int64 its nearest
// end.
Expr Number(DType dtype, double value);
Expr Var(int id, std::string name, Type type = kIndex);

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr Div(const Expr& a, const Expr& b);
Expr Mod(const Expr& a, const Expr& b);
Expr FloorDiv(const Expr& a, const Expr& b);
Expr FloorMod(const Expr& a, const Expr& b);
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
// A comparison kind, or kAnd, kOr, kXor, kShl, kShr.
Expr Binary(ExprKind kind, const Expr& a, const Expr& b);
inline Expr Lt(const Expr& a, const Expr& b) { return Binary(ExprKind::kLt, a, b); }
inline Expr Le(const Expr& a, const Expr& b) { return Binary(ExprKind::kLe, a, b); }
inline Expr Eq(const Expr& a, const Expr& b) { return Binary(ExprKind::kEq, a, b); }
inline Expr Ne(const Expr& a, const Expr& b) { return Binary(ExprKind::kNe, a, b); }
inline Expr And(const Expr& a, const Expr& b) { return Binary(ExprKind::kAnd, a, b); }
inline Expr Or(const Expr& a, const Expr& b) { return Binary(ExprKind::kOr, a, b); }
Expr Not(const Expr& a);
Expr Select(const Expr& condition, const Expr& a, const Expr& b);
Expr Cast(DType dtype, const Expr& a);
Expr Call(Intrinsic intrinsic, std::initializer_list<Expr> operands);
// One scalar element, or as many lanes as the indices have. predicate: null, or a condition with
// those lanes; a lane whose condition is false reads nothing and gives zero.
Expr Load(int buffer, DType dtype, std::span<const Expr> indices, Expr predicate = Expr());
Expr Ramp(const Expr& base, int64_t stride, int lanes);
Expr Broadcast(const Expr& scalar, int lanes);
// The lanes of `vector`, a power of two, as one value: lane i with lane i + n / 2, and again until
// one is left. `combiner` is kAdd, kMul, kMin or kMax. A scalar is its own result.
Expr ReduceLanes(ExprKind combiner, const Expr& vector);

// Structural equality and a hash that agrees with it. Variables are equal by id.
bool Equal(const Expr& a, const Expr& b);
uint64_t HashOf(const Expr& e);

// `e` with each operand replaced by f(operand); `e` itself where none changes, so that shared nodes
// stay shared.
template <typename F>
Expr MapOperands(const Expr& e, F&& f) {
  auto ops = e->operands();
  if (ops.empty()) return e;
  bool changed = false;
  Expr stack[8];
  std::vector<Expr> heap;
  Expr* out = stack;
  if (ops.size() > 8) {
    heap.resize(ops.size());
    out = heap.data();
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    out[i] = f(ops[i]);
    changed |= out[i].get() != ops[i].get();
  }
  return changed ? e->WithOperands({out, ops.size()}) : e;
}

// Rebuilds `e` bottom-up: `f` is called on each node after its operands were replaced and may
// return another expression, or null to keep it. Shared nodes that do not change stay shared.
template <typename F>
Expr Rewrite(const Expr& e, F&& f) {
  const Expr node = MapOperands(e, [&](const Expr& operand) { return Rewrite(operand, f); });
  Expr replaced = f(node);
  return replaced ? replaced : node;
}

// Calls `f` on every node, parents first; `f` returns whether to descend.
template <typename F>
void Visit(const Expr& e, F&& f) {
  if (!f(e)) return;
  for (const Expr& o : e->operands()) Visit(o, f);
}

// `e` with each variable replaced by map[id] where that is set (ids past its size stay).
Expr Substitute(const Expr& e, std::span<const Expr> map);

}  // namespace temper::tir
