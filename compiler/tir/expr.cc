#include "compiler/tir/expr.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "base/pool.h"
#include "base/status.h"
#include "compiler/tir/scalar.h"

namespace temper::tir {
namespace {

constexpr std::array<std::string_view, kIntrinsicCount> kNames = {
    "abs",        "exp",   "log",   "sqrt", "rsqrt", "tanh",   "erf",   "floor", "ceil",
    "round_even", "sin",   "cos",   "tan",  "asin",  "acos",   "atan",  "sinh",  "cosh",
    "asinh",      "acosh", "atanh", "pow",  "fmod",  "is_nan", "is_inf"};

bool IsIntegral(const Expr& e) { return IsInt(e->type().dtype); }
bool IsImm(const Expr& e) { return e->kind() == ExprKind::kIntImm; }

Expr MakeBinary(ExprKind kind, Type type, const Expr& a, const Expr& b) {
  Expr ops[2] = {a, b};
  return ExprNode::Make(kind, type, ops);
}

// Lifts the scalar side of a scalar-vector pair.
void Unify(Expr& a, Expr& b) {
  if (a->lanes() == b->lanes()) return;
  if (a->lanes() == 1) {
    a = Broadcast(a, b->lanes());
  } else {
    TEMPER_CHECK(b->lanes() == 1);
    b = Broadcast(b, a->lanes());
  }
}

// Immediates are held as int64: folding that compares or divides them is right for signed types
// and for unsigned ones below 2^63.
bool CanFold(const Expr& a, const Expr& b) {
  return IsImm(a) && IsImm(b) &&
         (IsSignedInt(a->type().dtype) || (a->int_value() >= 0 && b->int_value() >= 0));
}

Expr Arithmetic(ExprKind kind, Expr a, Expr b) {
  Unify(a, b);
  return MakeBinary(kind, a->type(), a, b);
}

}  // namespace

std::string_view Name(Intrinsic intrinsic) { return kNames[static_cast<size_t>(intrinsic)]; }

Expr::Expr(int value) : Expr(Index(value)) {}
Expr::Expr(int64_t value) : Expr(Index(value)) {}

const std::string& ExprNode::var_name() const { return *name_; }

Expr ExprNode::Make(ExprKind kind, Type type, std::span<const Expr> operands, int64_t payload,
                    uint8_t sub) {
  void* memory = Pool::Allocate(sizeof(ExprNode) + operands.size() * sizeof(Expr));
  auto* node = new (memory) ExprNode();
  node->kind_ = kind;
  node->sub_ = sub;
  node->count_ = static_cast<uint16_t>(operands.size());
  node->type_ = type;
  node->int_ = payload;
  auto* out = reinterpret_cast<Expr*>(node + 1);
  for (size_t i = 0; i < operands.size(); ++i) new (out + i) Expr(operands[i]);
  return Expr(node);
}

Expr ExprNode::MakeFloat(Type type, double value) {
  return Make(ExprKind::kFloatImm, type, {}, std::bit_cast<int64_t>(value));
}

Expr ExprNode::MakeVar(Type type, int id, std::string name) {
  Expr e = Make(ExprKind::kVar, type, {}, id);
  const_cast<ExprNode*>(e.get())->name_ = new std::string(std::move(name));
  return e;
}

Expr ExprNode::WithOperands(std::span<const Expr> operands) const {
  Type type = type_;
  // A substituted index can turn a scalar node into a vector one.
  switch (kind_) {
    case ExprKind::kBroadcast:
    case ExprKind::kRamp:
    case ExprKind::kReduceLanes:
      break;
    default:
      for (const Expr& o : operands) {
        if (o->lanes() > type.lanes) type.lanes = o->lanes();
      }
  }
  if (type.lanes != type_.lanes) {
    std::vector<Expr> lifted(operands.begin(), operands.end());
    for (Expr& o : lifted) {
      if (o->lanes() != type.lanes) o = Broadcast(o, type.lanes);
    }
    return Make(kind_, type, lifted, int_, sub_);
  }
  return Make(kind_, type, operands, int_, sub_);
}

void ExprNode::Destroy(const ExprNode* node) {
  // A loop, since long chains of additions must not recurse, and no allocation: nodes that wait
  // for their end are linked through the payload, which nobody reads any more.
  auto link = [](const ExprNode* n, ExprNode* next) {
    auto* dead = const_cast<ExprNode*>(n);
    delete dead->name_;
    dead->name_ = nullptr;
    dead->int_ = static_cast<int64_t>(reinterpret_cast<intptr_t>(next));
    return dead;
  };
  ExprNode* pending = link(node, nullptr);
  while (pending != nullptr) {
    ExprNode* n = pending;
    pending = reinterpret_cast<ExprNode*>(static_cast<intptr_t>(n->int_));
    auto* ops = reinterpret_cast<Expr*>(n + 1);
    for (int i = 0; i < n->count_; ++i) {
      const ExprNode* child = ops[i].node_;
      ops[i].node_ = nullptr;
      if (child && child->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        pending = link(child, pending);
      }
    }
    const size_t bytes = sizeof(ExprNode) + n->count_ * sizeof(Expr);
    n->~ExprNode();
    Pool::Free(n, bytes);
  }
}

Expr IntImm(Type type, int64_t value) {
  Expr e = ExprNode::Make(ExprKind::kIntImm, type.WithLanes(1), {}, WrapInteger(type.dtype, value));
  return type.lanes == 1 ? e : Broadcast(e, type.lanes);
}

Expr FloatImm(DType dtype, double value) { return ExprNode::MakeFloat({dtype, 1}, value); }

Expr Number(DType dtype, double value) {
  if (IsFloat(dtype)) return FloatImm(dtype, value);
  // Toward zero; to the nearest end of int64 beyond it, since C++ leaves that open.
  constexpr double kEnd = 9223372036854775808.0;
  if (std::isnan(value)) return IntImm({dtype, 1}, 0);
  if (value >= kEnd) return IntImm({dtype, 1}, std::numeric_limits<int64_t>::max());
  if (value < -kEnd) return IntImm({dtype, 1}, std::numeric_limits<int64_t>::min());
  return IntImm({dtype, 1}, static_cast<int64_t>(value));
}

Expr Var(int id, std::string name, Type type) {
  return ExprNode::MakeVar(type, id, std::move(name));
}

Expr operator+(const Expr& a, const Expr& b) {
  if (IsIntegral(a)) {
    if (IsImm(a) && IsImm(b)) return IntImm(a->type(), AddWrap(a->int_value(), b->int_value()));
    if (a->IsInt(0)) return b;
    if (b->IsInt(0)) return a;
  }
  return Arithmetic(ExprKind::kAdd, a, b);
}

Expr operator-(const Expr& a, const Expr& b) {
  if (IsIntegral(a)) {
    if (IsImm(a) && IsImm(b)) return IntImm(a->type(), SubWrap(a->int_value(), b->int_value()));
    if (b->IsInt(0)) return a;
    if (a->kind() == ExprKind::kVar && Equal(a, b)) return IntImm(a->type(), 0);
  }
  return Arithmetic(ExprKind::kSub, a, b);
}

Expr operator*(const Expr& a, const Expr& b) {
  if (IsIntegral(a)) {
    if (IsImm(a) && IsImm(b)) return IntImm(a->type(), MulWrap(a->int_value(), b->int_value()));
    if (b->IsInt(1)) return a;
    if (a->IsInt(1)) return b;
    if (a->IsInt(0) && b->lanes() == 1) return a;
    if (b->IsInt(0) && a->lanes() == 1) return b;
  }
  return Arithmetic(ExprKind::kMul, a, b);
}

Expr Div(const Expr& a, const Expr& b) { return Arithmetic(ExprKind::kDiv, a, b); }
Expr Mod(const Expr& a, const Expr& b) { return Arithmetic(ExprKind::kMod, a, b); }

Expr FloorDiv(const Expr& a, const Expr& b) {
  if (b->IsInt(1)) return a;
  if (CanFold(a, b) && b->int_value() != 0) {
    return IntImm(a->type(), FloorDivWrap(a->int_value(), b->int_value()));
  }
  return Arithmetic(ExprKind::kFloorDiv, a, b);
}

Expr FloorMod(const Expr& a, const Expr& b) {
  if (b->IsInt(1) && a->lanes() == 1) return IntImm(a->type(), 0);
  if (CanFold(a, b) && b->int_value() != 0) {
    return IntImm(a->type(), FloorModWrap(a->int_value(), b->int_value()));
  }
  return Arithmetic(ExprKind::kFloorMod, a, b);
}

Expr Min(const Expr& a, const Expr& b) {
  if (IsIntegral(a) && CanFold(a, b)) return a->int_value() <= b->int_value() ? a : b;
  return Arithmetic(ExprKind::kMin, a, b);
}

Expr Max(const Expr& a, const Expr& b) {
  if (IsIntegral(a) && CanFold(a, b)) return a->int_value() >= b->int_value() ? a : b;
  return Arithmetic(ExprKind::kMax, a, b);
}

Expr Binary(ExprKind kind, const Expr& x, const Expr& y) {
  Expr a = x, b = y;
  Unify(a, b);
  bool imm = IsImm(a) && IsImm(b);
  int64_t l = imm ? a->int_value() : 0, r = imm ? b->int_value() : 0;
  Type boolean{DType::kBool, a->lanes()};
  switch (kind) {
    case ExprKind::kEq:
      return imm ? Bool(l == r) : MakeBinary(kind, boolean, a, b);
    case ExprKind::kNe:
      return imm ? Bool(l != r) : MakeBinary(kind, boolean, a, b);
    case ExprKind::kLt:
      return imm && IsSignedInt(a->type().dtype) ? Bool(l < r) : MakeBinary(kind, boolean, a, b);
    case ExprKind::kLe:
      return imm && IsSignedInt(a->type().dtype) ? Bool(l <= r) : MakeBinary(kind, boolean, a, b);
    case ExprKind::kAnd:
    case ExprKind::kOr:
      if (a->type().dtype == DType::kBool) {
        bool is_and = kind == ExprKind::kAnd;
        // x and true = x; x and false = false; dually for or.
        for (const auto* side : {&a, &b}) {
          if (!IsImm(*side)) continue;
          const Expr& other = side == &a ? b : a;
          return ((*side)->int_value() != 0) == is_and ? other : *side;
        }
      }
      return MakeBinary(kind, a->type(), a, b);
    default:
      return MakeBinary(kind, a->type(), a, b);
  }
}

Expr Not(const Expr& a) {
  if (IsImm(a) && a->type().dtype == DType::kBool) return Bool(a->int_value() == 0);
  Expr ops[1] = {a};
  return ExprNode::Make(ExprKind::kNot, a->type(), ops);
}

Expr Select(const Expr& condition, const Expr& x, const Expr& y) {
  if (IsImm(condition)) return condition->int_value() ? x : y;
  Expr a = x, b = y, c = condition;
  Unify(a, b);
  if (c->lanes() != a->lanes()) {
    if (c->lanes() == 1) {
      c = Broadcast(c, a->lanes());
    } else {
      a = Broadcast(a, c->lanes());
      b = Broadcast(b, c->lanes());
    }
  }
  Expr ops[3] = {c, a, b};
  return ExprNode::Make(ExprKind::kSelect, a->type(), ops);
}

Expr Cast(DType dtype, const Expr& a) {
  if (a->type().dtype == dtype) return a;
  Expr ops[1] = {a};
  return ExprNode::Make(ExprKind::kCast, {dtype, a->lanes()}, ops);
}

Expr Call(Intrinsic intrinsic, std::initializer_list<Expr> operands) {
  Type type = (*operands.begin())->type();
  if (intrinsic == Intrinsic::kIsNan || intrinsic == Intrinsic::kIsInf) type.dtype = DType::kBool;
  return ExprNode::Make(ExprKind::kCall, type, {operands.begin(), operands.size()}, 0,
                        static_cast<uint8_t>(intrinsic));
}

Expr Load(int buffer, DType dtype, std::span<const Expr> indices, Expr predicate) {
  std::vector<Expr> ops(indices.begin(), indices.end());
  if (predicate) ops.push_back(predicate);
  int lanes = 1;
  for (const Expr& o : ops) lanes = std::max(lanes, o->lanes());
  for (Expr& o : ops) {
    if (o->lanes() != lanes) o = Broadcast(o, lanes);
  }
  return ExprNode::Make(ExprKind::kLoad, {dtype, lanes}, ops, buffer, predicate ? 1 : 0);
}

Expr Ramp(const Expr& base, int64_t stride, int lanes) {
  Expr ops[1] = {base};
  return ExprNode::Make(ExprKind::kRamp, base->type().WithLanes(lanes), ops, stride);
}

Expr Broadcast(const Expr& scalar, int lanes) {
  if (lanes == 1) return scalar;
  Expr ops[1] = {scalar};
  return ExprNode::Make(ExprKind::kBroadcast, scalar->type().WithLanes(lanes), ops);
}

Expr ReduceLanes(ExprKind combiner, const Expr& vector) {
  if (vector->lanes() == 1) return vector;
  Expr ops[1] = {vector};
  return ExprNode::Make(ExprKind::kReduceLanes, vector->type().WithLanes(1), ops,
                        static_cast<int64_t>(combiner));
}

bool Equal(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b) return false;
  if (a->kind() != b->kind() || a->type() != b->type()) return false;
  if (a->kind() == ExprKind::kFloatImm) {
    return std::bit_cast<int64_t>(a->float_value()) == std::bit_cast<int64_t>(b->float_value());
  }
  if (a->int_value() != b->int_value()) return false;
  if (a->kind() == ExprKind::kCall && a->intrinsic() != b->intrinsic()) return false;
  auto x = a->operands(), y = b->operands();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Equal(x[i], y[i])) return false;
  }
  return true;
}

uint64_t HashOf(const Expr& e) {
  uint64_t h = 0x9e3779b97f4a7c15u * (static_cast<uint64_t>(e->kind()) + 1);
  auto mix = [&h](uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
  };
  mix(static_cast<uint64_t>(e->type().dtype) << 32 | static_cast<uint32_t>(e->lanes()));
  mix(static_cast<uint64_t>(e->int_value()));
  if (e->kind() == ExprKind::kCall) mix(static_cast<uint64_t>(e->intrinsic()));
  for (const Expr& o : e->operands()) mix(HashOf(o));
  return h;
}

Expr Substitute(const Expr& e, std::span<const Expr> map) {
  if (e->kind() == ExprKind::kVar) {
    auto id = static_cast<size_t>(e->var_id());
    return id < map.size() && map[id] ? map[id] : e;
  }
  return MapOperands(e, [&](const Expr& operand) { return Substitute(operand, map); });
}

}  // namespace temper::tir
