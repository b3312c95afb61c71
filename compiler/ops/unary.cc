// Operators of one operand, element by element. Inference only: Dropout is the identity.
#include <cmath>
#include <numbers>

#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Call;
using tir::Expr;
using tir::Intrinsic;
using tir::Max;
using tir::Min;
using tir::Number;
using tir::Select;

// A number of the type of `x`.
Expr Like(const Expr& x, double value) { return Number(x->type().dtype, value); }
bool IsFloating(const Expr& x) { return IsFloat(x->type().dtype); }

// log(1 + x) for x >= 0, which 1 + x may round to 1: what rounding took from x is made good (W.
// Kahan's way, as in Goldberg, What Every Computer Scientist Should Know, theorem 4).
Expr LogOnePlus(const Expr& x) {
  const Expr one = Like(x, 1), sum = one + x;
  return Select(tir::Eq(sum, one), x, tir::Div(Call(Intrinsic::kLog, {sum}) * x, sum - one));
}

// log(1 + exp(x)) without overflow, as exact for negative x; NaN stays NaN.
Expr Softplus(const Expr& x) {
  const Expr tail = Call(Intrinsic::kExp, {Like(x, -1) * Call(Intrinsic::kAbs, {x})});
  return Max(x, Like(x, 0)) + LogOnePlus(tail);
}

Expr Abs(const Expr& x) {
  if (IsFloating(x)) return Call(Intrinsic::kAbs, {x});
  if (IsUnsignedInt(x->type().dtype)) return x;
  return Select(tir::Lt(x, Like(x, 0)), Like(x, 0) - x, x);
}

// Zero and NaN are their own signs.
Expr Sign(const Expr& x) {
  const Expr zero = Like(x, 0);
  if (IsUnsignedInt(x->type().dtype)) return Min(x, Like(x, 1));
  return Select(tir::Lt(zero, x), Like(x, 1), Select(tir::Lt(x, zero), Like(x, -1), x));
}

Expr Elu(const Expr& x, double alpha, double gamma) {
  const Expr below = Like(x, alpha * gamma) * (Call(Intrinsic::kExp, {x}) - Like(x, 1));
  return Select(tir::Lt(x, Like(x, 0)), below, gamma == 1 ? x : Like(x, gamma) * x);
}

Expr Celu(const Expr& x, double alpha) {
  const Expr e = Call(Intrinsic::kExp, {x * Like(x, 1 / alpha)});
  return Max(Like(x, 0), x) + Min(Like(x, 0), Like(x, alpha) * (e - Like(x, 1)));
}

Expr HardSigmoid(const Expr& x, double alpha, double beta) {
  return Max(Like(x, 0), Min(Like(x, 1), x * Like(x, alpha) + Like(x, beta)));
}

Expr Gelu(const Expr& x, bool tanh) {
  Expr inner;
  if (tanh) {
    const double c = std::sqrt(2 / std::numbers::pi);
    inner = Call(Intrinsic::kTanh, {x * (Like(x, c) + Like(x, c * 0.044715) * x * x)});
  } else {
    inner = Call(Intrinsic::kErf, {x * Like(x, 1 / std::numbers::sqrt2)});
  }
  return x * Like(x, 0.5) * (Like(x, 1) + inner);
}

struct Direct {
  std::string_view name;
  Intrinsic intrinsic;
};

// Operators that are one intrinsic of a floating-point operand.
constexpr Direct kDirect[] = {
    {"Acos", Intrinsic::kAcos},   {"Acosh", Intrinsic::kAcosh},     {"Asin", Intrinsic::kAsin},
    {"Asinh", Intrinsic::kAsinh}, {"Atan", Intrinsic::kAtan},       {"Atanh", Intrinsic::kAtanh},
    {"Ceil", Intrinsic::kCeil},   {"Cos", Intrinsic::kCos},         {"Cosh", Intrinsic::kCosh},
    {"Erf", Intrinsic::kErf},     {"Exp", Intrinsic::kExp},         {"Floor", Intrinsic::kFloor},
    {"Log", Intrinsic::kLog},     {"Round", Intrinsic::kRoundEven}, {"Sin", Intrinsic::kSin},
    {"Sinh", Intrinsic::kSinh},   {"Sqrt", Intrinsic::kSqrt},       {"Tan", Intrinsic::kTan},
    {"Tanh", Intrinsic::kTanh},
};

Expr Shrink(const Expr& x, double bias, double lambd) {
  const Expr low = Select(tir::Lt(x, Like(x, -lambd)), x + Like(x, bias), Like(x, 0));
  return Select(tir::Lt(Like(x, lambd), x), x - Like(x, bias), low);
}

Expr Sigmoid(const Expr& x, double alpha) {
  return tir::Div(Like(x, 1), Like(x, 1) + Call(Intrinsic::kExp, {x * Like(x, -alpha)}));
}

Expr IsInf(const graph::Node& node, const Expr& x) {
  const Expr any = Call(Intrinsic::kIsInf, {x});
  const bool positive = node.Int("detect_positive", 1) != 0;
  const bool negative = node.Int("detect_negative", 1) != 0;
  if (positive && negative) return any;
  if (!positive && !negative) return tir::And(any, tir::Bool(false));
  return tir::And(any, positive ? tir::Lt(Like(x, 0), x) : tir::Lt(x, Like(x, 0)));
}

// Null if the operator is none of these.
Expr Apply(const graph::Node& node, const Expr& x) {
  const std::string& op = node.op;
  for (const Direct& direct : kDirect) {
    if (op == direct.name) return Call(direct.intrinsic, {x});
  }
  if (op == "Abs") return Abs(x);
  if (op == "BitwiseNot") return tir::Not(x);
  if (op == "Celu") return Celu(x, node.Float("alpha", 1));
  if (op == "Dropout" || op == "Identity") return x;
  if (op == "Elu") return Elu(x, node.Float("alpha", 1), 1);
  if (op == "Gelu") return Gelu(x, node.String("approximate", "none") == "tanh");
  if (op == "HardSigmoid") {
    return HardSigmoid(x, node.Float("alpha", 0.2f), node.Float("beta", 0.5f));
  }
  if (op == "HardSwish") return x * HardSigmoid(x, 1.0 / 6, 0.5);
  if (op == "IsInf") return IsInf(node, x);
  if (op == "IsNaN") return Call(Intrinsic::kIsNan, {x});
  if (op == "LeakyRelu") {
    return Select(tir::Lt(x, Like(x, 0)), x * Like(x, node.Float("alpha", 0.01f)), x);
  }
  if (op == "Mish") return x * Call(Intrinsic::kTanh, {Softplus(x)});
  if (op == "Neg") return x * Like(x, -1);
  if (op == "Not") return tir::Not(x);
  if (op == "Reciprocal") return tir::Div(Like(x, 1), x);
  if (op == "Relu") return Max(x, Like(x, 0));
  if (op == "Selu") {
    return Elu(x, node.Float("alpha", 1.67326319217681884765625f),
               node.Float("gamma", 1.05070102214813232421875f));
  }
  if (op == "Shrink") return Shrink(x, node.Float("bias", 0), node.Float("lambd", 0.5f));
  if (op == "Sigmoid") return Sigmoid(x, 1);
  if (op == "Sign") return Sign(x);
  if (op == "Softplus") return Softplus(x);
  if (op == "Softsign") return tir::Div(x, Like(x, 1) + Abs(x));
  if (op == "Swish") return x * Sigmoid(x, node.Float("alpha", 1));
  if (op == "ThresholdedRelu") {
    return Select(tir::Lt(Like(x, node.Float("alpha", 1)), x), x, Like(x, 0));
  }
  return Expr();
}

}  // namespace

Status BuildUnary(Emitter& e) {
  if (e.Output(1) != graph::kNone) return e.Refuse("its second output is not supported");
  const int x = e.Input(0);
  const DType type = e.dtype(x);
  // Operators on integers and bool that ONNX allows beside those on floats.
  static constexpr std::string_view kAnyType[] = {"Abs", "BitwiseNot", "Dropout", "Identity", "Neg",
                                                  "Not", "Relu",       "Shrink",  "Sign"};
  bool any = false;
  for (std::string_view name : kAnyType) any |= e.node().op == name;
  if (!IsFloat(type) && !any) {
    return e.Refuse("operands of type " + std::string(Name(type)) + " are not supported");
  }
  e.DefinePoints(0, [&](const Indices& point) { return Apply(e.node(), e.Read(x, point)); });
  return OkStatus();
}

}  // namespace temper::ops
