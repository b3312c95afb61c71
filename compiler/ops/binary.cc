// Operators of two and more operands, paired element by element after numpy's broadcasting.
#include <cmath>

#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Binary;
using tir::Call;
using tir::Expr;
using tir::ExprKind;
using tir::Intrinsic;
using tir::Number;
using tir::Select;

bool IsImmediate(const Expr& e) {
  return e->kind() == ExprKind::kFloatImm || e->kind() == ExprKind::kIntImm;
}

Expr Divide(const Expr& a, const Expr& b) {
  // A product costs a fraction of a quotient and is within one unit in the last place of it.
  if (b->kind() == ExprKind::kFloatImm) {
    const double inverse = 1 / b->float_value();
    if (std::isnormal(static_cast<float>(inverse))) return a * Number(b->type().dtype, inverse);
  }
  return tir::Div(a, b);
}

// fmod = 0 takes the divisor's sign, as Python's operator; fmod = 1 the dividend's, as C's.
Expr Modulo(const Expr& a, const Expr& b, bool fmod) {
  if (IsFloat(a->type().dtype)) return Call(Intrinsic::kFmod, {a, b});
  const Expr rest = tir::Mod(a, b);
  if (fmod || IsUnsignedInt(a->type().dtype)) return rest;
  const Expr zero = Number(a->type().dtype, 0);
  const Expr differ = Binary(ExprKind::kXor, tir::Lt(rest, zero), tir::Lt(b, zero));
  return Select(tir::And(tir::Ne(rest, zero), differ), rest + b, rest);
}

// By squaring, so that integers wrap. REQUIRES: 1 <= exponent.
Expr IntegerPower(const Expr& a, int64_t exponent) {
  if (exponent == 1) return a;
  const Expr half = IntegerPower(a, exponent / 2);
  return exponent % 2 == 0 ? half * half : half * half * a;
}

Expr Power(const Expr& a, const Expr& exponent) {
  const DType type = a->type().dtype;
  if (IsImmediate(exponent)) {
    const double value = exponent->kind() == ExprKind::kFloatImm
                             ? exponent->float_value()
                             : static_cast<double>(exponent->int_value());
    constexpr double kLongest = 64;  // the expression has as many factors
    if (!IsFloat(type) && value == 0) return Number(type, 1);
    if (!IsFloat(type) && value == std::floor(value) && 1 <= value && value <= kLongest) {
      return IntegerPower(a, static_cast<int64_t>(value));
    }
    if (value == 1) return a;
    if (value == 2) return a * a;
    if (value == 3) return a * a * a;
    if (value == 0.5 && IsFloat(type)) return Call(Intrinsic::kSqrt, {a});
    if (value == -1 && IsFloat(type)) return tir::Div(Number(type, 1), a);
  }
  const DType by = exponent->type().dtype;
  if (IsInt(type) && IsInt(by)) {
    // The low bits of a power are those of the power in a wider type.
    const DType wide = !IsSignedInt(by)                           ? DType::kUInt64
                       : ByteSize(by) == 8 || ByteSize(type) == 8 ? DType::kInt64
                                                                  : DType::kInt32;
    return As(type, Call(Intrinsic::kPow, {As(wide, a), As(wide, exponent)}));
  }
  const DType wide = IsFloat(type) ? type : DType::kFloat64;
  return As(type, Call(Intrinsic::kPow, {As(wide, a), As(wide, exponent)}));
}

// Zero where everything is shifted out.
Expr Shift(const Expr& a, const Expr& by, bool left) {
  const DType type = a->type().dtype;
  const Expr width = Number(type, 8.0 * ByteSize(type));
  const Expr bounded = tir::Min(by, Number(type, 8.0 * ByteSize(type) - 1));
  const Expr shifted = Binary(left ? ExprKind::kShl : ExprKind::kShr, a, bounded);
  return Select(tir::Lt(by, width), shifted, Number(type, 0));
}

// Null if the operator is none of these.
Expr Apply(const graph::Node& node, const Expr& a, const Expr& b) {
  const std::string& op = node.op;
  if (op == "Add") return a + b;
  if (op == "And") return tir::And(a, b);
  if (op == "BitShift") return Shift(a, b, node.String("direction", "") == "LEFT");
  if (op == "BitwiseAnd") return tir::And(a, b);
  if (op == "BitwiseOr") return tir::Or(a, b);
  if (op == "BitwiseXor") return Binary(ExprKind::kXor, a, b);
  if (op == "Div") return Divide(a, b);
  if (op == "Equal") return tir::Eq(a, b);
  if (op == "Greater") return tir::Lt(b, a);
  if (op == "GreaterOrEqual") return tir::Le(b, a);
  if (op == "Less") return tir::Lt(a, b);
  if (op == "LessOrEqual") return tir::Le(a, b);
  if (op == "Mod") return Modulo(a, b, node.Int("fmod", 0) != 0);
  if (op == "Mul") return a * b;
  if (op == "Or") return tir::Or(a, b);
  if (op == "PRelu") return Select(tir::Lt(a, Number(a->type().dtype, 0)), a * b, a);
  if (op == "Pow") return Power(a, b);
  if (op == "Sub") return a - b;
  if (op == "Xor") return Binary(ExprKind::kXor, a, b);
  return Expr();
}

}  // namespace

Status BuildBinary(Emitter& e) {
  const int a = e.Input(0), b = e.Input(1);
  if (e.node().op == "Mod" && IsFloat(e.dtype(a)) && e.node().Int("fmod", 0) == 0) {
    return e.Refuse("floating-point operands need fmod = 1");
  }
  const bool arithmetic = e.dtype(e.Output(0)) != DType::kBool;
  if (arithmetic && e.dtype(a) == DType::kBool) return e.Refuse("bool operands are not supported");
  e.DefinePoints(0, [&](const Indices& point) {
    return Apply(e.node(), e.ReadBroadcast(a, point), e.ReadBroadcast(b, point));
  });
  return OkStatus();
}

Status BuildVariadic(Emitter& e) {
  const std::string& op = e.node().op;
  for (int input : e.node().inputs) {
    if (input == graph::kNone) return e.Refuse("an operand is missing");
  }
  e.DefinePoints(0, [&](const Indices& point) {
    Expr all;
    for (int input : e.node().inputs) {
      const Expr x = e.ReadBroadcast(input, point);
      all = !all ? x : op == "Max" ? tir::Max(all, x) : op == "Min" ? tir::Min(all, x) : all + x;
    }
    const auto count = static_cast<double>(e.node().inputs.size());
    if (op == "Mean" && count > 1) all = Divide(all, Number(all->type().dtype, count));
    return all;
  });
  return OkStatus();
}

}  // namespace temper::ops
