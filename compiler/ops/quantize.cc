// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Scales and zero points broadcast: the
// pass `decompose` has brought those of an axis or of blocks to that form.
#include <limits>

#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

using tir::Call;
using tir::Expr;
using tir::Intrinsic;
using tir::Number;

double Lowest(DType type) {
  return IsUnsignedInt(type) ? 0 : -static_cast<double>(int64_t{1} << (8 * ByteSize(type) - 1));
}
double Highest(DType type) {
  return static_cast<double>(int64_t{1} << (8 * ByteSize(type) - (IsUnsignedInt(type) ? 0 : 1))) -
         1;
}

// round(quotient) + zero point, saturated; the quotient is in float32 or float64, where all
// numbers of up to 16 bits are exact.
Expr Saturated(DType to, const Expr& quotient, const Expr& zero) {
  const DType type = quotient->type().dtype;
  Expr y = Call(Intrinsic::kRoundEven, {quotient});
  if (zero) y = y + As(type, zero);
  return tir::Cast(to, tir::Min(tir::Max(y, Number(type, Lowest(to))), Number(type, Highest(to))));
}

bool IsOne(const Expr& e) { return e->kind() == tir::ExprKind::kFloatImm && e->float_value() == 1; }

bool Broadcasts(const Emitter& e, int value) {
  if (value == graph::kNone || *graph::ElementCount(e.shape(value)) == 1) return true;
  const graph::Shape x = e.shape(e.Input(0)), by = e.shape(value);
  bool fits = by.size() == x.size();
  for (size_t d = 0; d < x.size() && fits; ++d) fits = by[d] == 1 || by[d] == x[d];
  return fits;
}

}  // namespace

Status BuildQuantizeLinear(Emitter& e) {
  const int x = e.Input(0), scale = e.Input(1), zero = e.Input(2);
  if (!Broadcasts(e, scale) || !Broadcasts(e, zero)) return e.Refuse("this form of its scale");
  const DType from = e.dtype(x), to = e.dtype(e.Output(0));
  const DType wide =
      from == DType::kInt32 || from == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  if (IsInt(to) && ByteSize(to) > 2) return e.Refuse("this type of its result");
  e.DefinePoints(0, [&](const Indices& p) {
    auto read = [&](int value) {
      return e.shape(value).size() <= p.size()
                 ? e.ReadBroadcast(value, p)
                 : e.Read(value, Indices(e.shape(value).size(), Expr(0)));
    };
    const Expr by = As(wide, read(scale));
    Expr quotient = As(wide, e.Read(x, p));
    if (!IsOne(by)) quotient = tir::Div(quotient, by);
    if (IsFloat(to)) return tir::Cast(to, quotient);
    return Saturated(to, quotient, zero == graph::kNone ? Expr() : read(zero));
  });
  return OkStatus();
}

Status BuildDequantizeLinear(Emitter& e) {
  const int x = e.Input(0), scale = e.Input(1), zero = e.Input(2);
  if (!Broadcasts(e, scale) || !Broadcasts(e, zero)) return e.Refuse("this form of its scale");
  const DType from = e.dtype(x), to = e.dtype(e.Output(0));
  const DType wide = to == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  e.DefinePoints(0, [&](const Indices& p) {
    auto read = [&](int value) {
      return e.shape(value).size() <= p.size()
                 ? e.ReadBroadcast(value, p)
                 : e.Read(value, Indices(e.shape(value).size(), Expr(0)));
    };
    Expr v = e.Read(x, p);
    if (IsInt(from)) v = As(DType::kInt32, v);
    if (zero != graph::kNone && IsInt(from)) v = v - As(DType::kInt32, read(zero));
    return As(to, As(wide, v) * As(wide, read(scale)));
  });
  return OkStatus();
}

// To uint8, with the range of the data and zero. Data of zeros has the scale 1, as ONNX Runtime
// gives it: ONNX's formula would divide by the scale 0.
Status BuildDynamicQuantizeLinear(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape shape = e.shape(x);
  const DType type = DType::kFloat32, to = DType::kUInt8;
  if (e.dtype(x) != type) return e.Refuse("operands that are not float32");
  auto extreme = [&](te::Combiner combiner, const char* name) {
    if (shape.empty()) return e.AddPoints({}, name, [&](const Indices& p) { return e.Read(x, p); });
    return e.AddReduction({}, shape, combiner, name,
                          [&](const Indices&, const Indices& r) { return e.Read(x, r); });
  };
  const int low = extreme(te::Combiner::kMin, ".low");
  const int high = extreme(te::Combiner::kMax, ".high");
  const Expr zero = Number(type, 0);
  auto bottom = [&] { return tir::Min(e.ReadTensor(low, {}), zero); };
  const int scale = e.AddPoints({}, ".scale", [&](const Indices&) {
    const Expr top = tir::Max(e.ReadTensor(high, {}), zero);
    const Expr range = top - bottom();
    return tir::Select(tir::Eq(range, zero), Number(type, 1), tir::Div(range, Number(type, 255)));
  });
  const int point = e.AddPoints({}, ".zero", [&](const Indices&) {
    const Expr step = e.ReadTensor(scale, {});
    const Expr y = Call(Intrinsic::kRoundEven, {tir::Div(zero - bottom(), step)});
    const Expr inside = tir::Min(tir::Max(y, zero), Number(type, 255));
    return tir::Cast(to, tir::Select(tir::Eq(step, zero), zero, inside));
  });
  e.DefinePoints(0, [&](const Indices& p) {
    const Expr step = e.ReadTensor(scale, {});
    const Expr one = tir::Select(tir::Eq(step, zero), Number(type, 1), step);
    return Saturated(to, tir::Div(e.Read(x, p), one), e.ReadTensor(point, {}));
  });
  e.Define(e.Output(1), scale);
  e.Define(e.Output(2), point);
  return OkStatus();
}

}  // namespace temper::ops
