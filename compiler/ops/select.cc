// Clip, Where and Cast.
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

Status BuildCast(Emitter& e) {
  const int x = e.Input(0);
  const DType from = e.dtype(x), to = e.dtype(e.Output(0));
  const auto is_float8 = [](DType type) { return IsFloat(type) && ByteSize(type) == 1; };
  if (is_float8(from) || is_float8(to)) return e.Refuse("float8 is not supported");
  e.DefinePoints(0, [&](const Indices& point) {
    const Expr y = e.Read(x, point);
    if (from == to) return y;
    if (to == DType::kBool) return tir::Ne(y, tir::Number(from, 0));
    return tir::Cast(to, y);
  });
  return OkStatus();
}

}  // namespace temper::ops
