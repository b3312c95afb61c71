// Clip, Where and Cast.
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

Status BuildClip(Emitter& e) {
  const int x = e.Input(0);
  for (size_t i = 1; i <= 2; ++i) {
    if (e.HasInput(i) && graph::ElementCount(e.shape(e.Input(i))) != 1) {
      return e.Refuse("a bound is not a scalar");
    }
  }
  e.DefinePoints(0, [&](const Indices& point) {
    Expr y = e.Read(x, point);
    auto bound = [&](size_t i) {
      return e.Read(e.Input(i), Indices(e.shape(e.Input(i)).size(), Expr(0)));
    };
    // ONNX: the upper bound wins where the bounds cross.
    if (e.HasInput(1)) y = tir::Max(y, bound(1));
    if (e.HasInput(2)) y = tir::Min(y, bound(2));
    return y;
  });
  return OkStatus();
}

Status BuildWhere(Emitter& e) {
  const int condition = e.Input(0), a = e.Input(1), b = e.Input(2);
  e.DefinePoints(0, [&](const Indices& point) {
    return tir::Select(e.ReadBroadcast(condition, point), e.ReadBroadcast(a, point),
                       e.ReadBroadcast(b, point));
  });
  return OkStatus();
}

namespace {

// The largest finite number, and from where on a number rounds beyond it; a tie goes to the even of
// the two, which is the largest only for E4M3FN.
struct Float8Range {
  double max;
  double beyond;
};
Float8Range RangeOf(DType dtype) {
  if (dtype == DType::kFloat8E4M3FN) return {448, std::nextafter(464.0f, 1000.0f)};
  if (dtype == DType::kFloat8E4M3FNUZ) return {240, 248};
  return {57344, 61440};
}

// What lies beyond the range saturates, or becomes infinity where the type has one and NaN
// elsewhere.
Expr ToFloat8(const Expr& x, DType to, bool saturate) {
  const Float8Range range = RangeOf(to);
  const Expr wide = IsFloat(x->type().dtype) && ByteSize(x->type().dtype) >= 4
                        ? x
                        : tir::Cast(DType::kFloat32, x);
  const auto number = [&](double value) { return tir::Number(wide->type().dtype, value); };
  if (saturate) {
    return tir::Cast(to, tir::Min(tir::Max(wide, number(-range.max)), number(range.max)));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const bool has_infinity = to == DType::kFloat8E5M2;
  const double above = has_infinity ? infinity : std::numeric_limits<double>::quiet_NaN();
  const Expr high = tir::Le(number(range.beyond), wide);
  const Expr low = tir::Le(wide, number(-range.beyond));
  return tir::Cast(to, tir::Select(high, number(above), tir::Select(low, number(-above), wide)));
}

}  // namespace

Status BuildCast(Emitter& e) {
  const int x = e.Input(0);
  const DType from = e.dtype(x), to = e.dtype(e.Output(0));
  const bool saturate = e.node().Int("saturate", 1) != 0;
  e.DefinePoints(0, [&](const Indices& point) {
    const Expr y = e.Read(x, point);
    if (from == to) return y;
    if (to == DType::kBool) return tir::Ne(y, tir::Number(from, 0));
    if (IsFloat(to) && ByteSize(to) == 1) return ToFloat8(y, to, saturate);
    return tir::Cast(to, y);
  });
  return OkStatus();
}

}  // namespace temper::ops
