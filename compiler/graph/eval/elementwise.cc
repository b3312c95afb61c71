#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "compiler/graph/eval/context.h"

namespace temper::graph {
namespace {

using Unary = double (*)(double);

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Functions without attributes; all that follow ONNX's definition in floating point.
Unary UnaryFunction(std::string_view op) {
  static constexpr std::pair<std::string_view, Unary> kFunctions[] = {
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return x < 0 ? 0.0 : x; }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sigmoid", Sigmoid},
      {"Sign", Sign},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
  };
  for (const auto& [name, function] : kFunctions) {
    if (name == op) return function;
  }
  return nullptr;
}

// Arithmetic modulo 2^64, where signed overflow would be undefined.
int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

// Integer power by squaring; negative exponents as numpy: 1, -1, or 0.
int64_t IntPow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1;
  for (uint64_t b = static_cast<uint64_t>(base); exponent > 0; exponent >>= 1, b *= b) {
    if (exponent & 1) result *= b;
  }
  return Wrap(result);
}

// `op` on integers; false where the result is not defined (division by zero).
bool IntBinary(std::string_view op, bool fmod, int64_t a, int64_t b, int64_t* result) {
  const uint64_t ua = static_cast<uint64_t>(a);
  const uint64_t ub = static_cast<uint64_t>(b);
  if (op == "Add" || op == "Sum") return *result = Wrap(ua + ub), true;
  if (op == "Sub") return *result = Wrap(ua - ub), true;
  if (op == "Mul") return *result = Wrap(ua * ub), true;
  if (op == "Max") return *result = std::max(a, b), true;
  if (op == "Min") return *result = std::min(a, b), true;
  if (op == "Pow") return *result = IntPow(a, b), true;
  if (op == "And") return *result = a && b, true;
  if (op == "Or") return *result = a || b, true;
  if (op == "Xor") return *result = (a != 0) != (b != 0), true;
  if (op == "Equal") return *result = a == b, true;
  if (op == "Less") return *result = a < b, true;
  if (op == "LessOrEqual") return *result = a <= b, true;
  if (op == "Greater") return *result = a > b, true;
  if (op == "GreaterOrEqual") return *result = a >= b, true;
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return false;
  if (op == "Div") return *result = a / b, true;
  if (op == "Mod") {
    // The sign of the divisor, or with fmod that of the dividend.
    const int64_t r = a % b;
    return *result = !fmod && r != 0 && (r < 0) != (b < 0) ? r + b : r, true;
  }
  return false;
}

// The remainder with the sign of the divisor, also where it is zero.
double FloorMod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

bool FloatBinary(std::string_view op, bool fmod, double a, double b, double* result) {
  if (op == "Add" || op == "Sum") return *result = a + b, true;
  if (op == "Sub") return *result = a - b, true;
  if (op == "Mul") return *result = a * b, true;
  if (op == "Div") return *result = a / b, true;
  if (op == "Pow") return *result = std::pow(a, b), true;
  if (op == "Max") return *result = std::isnan(a) || a > b ? a : b, true;
  if (op == "Min") return *result = std::isnan(a) || a < b ? a : b, true;
  if (op == "Mod") return *result = fmod ? std::fmod(a, b) : FloorMod(a, b), true;
  if (op == "Equal") return *result = a == b, true;
  if (op == "Less") return *result = a < b, true;
  if (op == "LessOrEqual") return *result = a <= b, true;
  if (op == "Greater") return *result = a > b, true;
  if (op == "GreaterOrEqual") return *result = a >= b, true;
  return false;
}

// out = a op b elementwise with broadcasting.
bool Apply(std::string_view op, bool fmod, const Tensor& a, const Tensor& b, DType dtype,
           const Shape& shape, std::byte* out) {
  const bool floats = IsFloat(a.dtype) || IsFloat(b.dtype);
  if (a.dtype == DType::kUInt64 || b.dtype == DType::kUInt64) return false;  // not in int64
  const std::vector<int64_t> sa = BroadcastStrides(a.shape, shape);
  const std::vector<int64_t> sb = BroadcastStrides(b.shape, shape);
  const int64_t step_a = shape.empty() ? 0 : sa.back();
  const int64_t step_b = shape.empty() ? 0 : sb.back();
  const int size = ByteSize(dtype);
  bool ok = true;
  ForEachRow(shape, sa, sb, [&](int64_t ia, int64_t ib, int64_t count) {
    for (int64_t i = 0; i < count && ok; ++i, out += size) {
      if (floats) {
        double r = 0;
        ok = FloatBinary(op, fmod, a.DoubleAt(ia + i * step_a), b.DoubleAt(ib + i * step_b), &r);
        // An integer base with a floating exponent (Pow) is truncated, as a cast does.
        if (!IsFloat(dtype)) r = std::trunc(r);
        StoreDouble(dtype, r, out);
      } else {
        int64_t r = 0;
        ok = IntBinary(op, fmod, a.IntAt(ia + i * step_a), b.IntAt(ib + i * step_b), &r);
        StoreInt(dtype, r, out);
      }
    }
  });
  return ok;
}

}  // namespace

Result<bool> EvalUnary(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const Unary function = UnaryFunction(c.node.op);
  if (function == nullptr) return false;
  // The other functions are of floats only.
  static constexpr std::string_view kAnyType[] = {"Abs", "Neg", "Not", "Relu", "Sign"};
  if (!IsFloat(x.dtype) && std::count(std::begin(kAnyType), std::end(kAnyType), c.node.op) == 0) {
    return false;
  }
  // Doubles hold 32-bit integers exactly, not 64-bit ones.
  if (!IsFloat(x.dtype) && ByteSize(x.dtype) == 8 && c.node.op != "Neg") return false;
  std::byte* out = c.Make();
  const int size = ByteSize(c.OutDType());
  for (int64_t i = 0; i < x.size(); ++i, out += size) {
    if (IsFloat(x.dtype)) {
      StoreDouble(x.dtype, function(x.DoubleAt(i)), out);
    } else if (c.node.op == "Neg") {
      StoreInt(x.dtype, Wrap(0 - static_cast<uint64_t>(x.IntAt(i))), out);
    } else {
      StoreInt(x.dtype, static_cast<int64_t>(function(static_cast<double>(x.IntAt(i)))), out);
    }
  }
  return true;
}

Result<bool> EvalBinary(EvalContext& c) {
  std::byte* out = c.Make();
  return Apply(c.node.op, c.node.Int("fmod", 0) != 0, *c.in[0], *c.in[1], c.OutDType(),
               c.OutShape(), out);
}

Result<bool> EvalVariadic(EvalContext& c) {
  const std::string op = c.node.op == "Mean" ? "Sum" : c.node.op;
  if (op == "Sum" && !IsFloat(c.OutDType())) return false;
  if (ElementCount(c.OutShape()) == 0) {
    // The first operands alone may broadcast to a great many.
    c.Make();
    return true;
  }
  // The first operand is broadcast by folding it with itself where max and min leave it alone.
  Tensor result = *c.in[0];
  for (size_t i = 1; i < c.in.size(); ++i) {
    const std::optional<Shape> shape = Broadcast(result.shape, c.in[i]->shape);
    std::byte* data = nullptr;
    Tensor next = MakeTensor(c.OutDType(), *shape, &data);
    if (!Apply(op, false, result, *c.in[i], c.OutDType(), *shape, data)) return false;
    result = std::move(next);
  }
  if (c.node.op == "Mean") {
    const double count = static_cast<double>(c.in.size());
    std::byte* data = nullptr;
    Tensor next = MakeTensor(c.OutDType(), result.shape, &data);
    if (!Apply("Div", false, result, MakeFromDoubles(c.OutDType(), {}, {&count, 1}), c.OutDType(),
               result.shape, data)) {
      return false;
    }
    result = std::move(next);
  }
  c.out[0] = std::move(result);
  return true;
}

Result<bool> EvalCast(EvalContext& c) {
  const Tensor& x = *c.in[0];
  const DType to = c.OutDType();
  if (x.dtype == to) {
    c.out[0] = x;
    return true;
  }
  // How float8 saturates depends on an attribute: left to the kernel.
  if (IsFloat(to) && ByteSize(to) == 1) return false;
  std::byte* out = c.Make();
  const int size = ByteSize(to);
  for (int64_t i = 0; i < x.size(); ++i, out += size) {
    if (!IsFloat(x.dtype) && !IsFloat(to)) {
      StoreInt(to, x.IntAt(i), out);
    } else {
      const double value = x.DoubleAt(i);
      StoreDouble(to, IsFloat(to) || to == DType::kBool ? value : std::trunc(value), out);
    }
  }
  return true;
}

Result<bool> EvalWhere(EvalContext& c) {
  const Shape shape = c.OutShape();
  const Tensor& condition = *c.in[0];
  const int64_t size = ByteSize(c.OutDType());
  std::byte* out = c.Make();
  const std::vector<int64_t> strides = Strides(shape);
  // The second operand everywhere, then the first where the condition holds.
  CopyBox(size, shape, c.in[2]->data, BroadcastStrides(c.in[2]->shape, shape), out, strides);
  const std::vector<int64_t> sc = BroadcastStrides(condition.shape, shape);
  const std::vector<int64_t> sx = BroadcastStrides(c.in[1]->shape, shape);
  int64_t position = 0;
  ForEachRow(shape, sc, sx, [&](int64_t ic, int64_t ix, int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++position) {
      const int64_t at = shape.empty() ? 0 : i;
      if (condition.IntAt(ic + at * (shape.empty() ? 0 : sc.back())) == 0) continue;
      const int64_t from = ix + at * (shape.empty() ? 0 : sx.back());
      std::memcpy(out + position * size, c.in[1]->data + from * size, static_cast<size_t>(size));
    }
  });
  return true;
}

Result<bool> EvalClip(EvalContext& c) {
  const Tensor& x = *c.in[0];
  if (x.dtype == DType::kUInt64 || x.dtype == DType::kInt64) return false;
  const double infinity = std::numeric_limits<double>::infinity();
  const bool has_low = c.in.size() > 1 && c.in[1] != nullptr;
  const bool has_high = c.in.size() > 2 && c.in[2] != nullptr;
  const double low = has_low ? c.in[1]->DoubleAt(0) : -infinity;
  const double high = has_high ? c.in[2]->DoubleAt(0) : infinity;
  std::byte* out = c.Make();
  for (int64_t i = 0; i < x.size(); ++i, out += ByteSize(x.dtype)) {
    StoreDouble(x.dtype, std::min(std::max(x.DoubleAt(i), low), high), out);
  }
  return true;
}

}  // namespace temper::graph
