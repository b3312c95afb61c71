// Pad: constant, edge, reflect and wrap; negative pads crop before the others fill.
#include "compiler/ops/axes.h"
#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

Status BuildPad(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x), out = e.shape(e.Output(0));
  const DType type = e.dtype(x);
  TEMPER_ASSIGN_OR_RETURN(const auto pads, e.ConstantInts(1, "pads"));
  std::vector<int> axes;
  if (e.HasInput(3)) {
    TEMPER_ASSIGN_OR_RETURN(const auto stated, e.ConstantInts(3, "axes"));
    for (int64_t a : stated) {
      TEMPER_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(e.node(), a, in.size()));
      axes.push_back(axis);
    }
  } else {
    for (size_t d = 0; d < in.size(); ++d) axes.push_back(static_cast<int>(d));
  }
  if (pads.size() != 2 * axes.size()) return e.Refuse("pads of another length than its axes");
  std::vector<int64_t> before(in.size(), 0), after(in.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    before[axes[i]] = pads[i];
    after[axes[i]] = pads[i + axes.size()];
  }
  const std::string mode = e.node().String("mode", "constant");
  std::vector<int64_t> left(in.size());  // of each axis when it is cropped
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] + before[d] + after[d] != out[d]) return e.Refuse("pads that do not give its result");
    left[d] = in[d] + std::min<int64_t>(before[d], 0) + std::min<int64_t>(after[d], 0);
    const bool far = std::max(before[d], after[d]) >= left[d];
    if (mode == "reflect" && far && out[d] > 0) {
      return e.Refuse("reflecting more elements than there are");
    }
  }
  e.DefinePoints(0, [&](const Indices& p) {
    Indices indices;
    Expr inside;
    for (size_t d = 0; d < in.size(); ++d) {
      Expr at = p[d] - Expr(before[d]);
      if (before[d] > 0 || after[d] > 0) {
        const Expr crop(std::max<int64_t>(0, -before[d])), last(crop + Expr(left[d] - 1));
        if (mode == "edge") {
          at = tir::Min(tir::Max(at, crop), last);
        } else if (mode == "wrap") {
          at = tir::FloorMod(at - crop, Expr(left[d])) + crop;
        } else if (mode == "reflect") {
          at = tir::Max(at, crop + crop - at);
          at = tir::Min(at, last + last - at);
        } else {
          Expr here;
          if (before[d] > 0) here = tir::Le(Expr(0), at);
          if (after[d] > 0) {
            const Expr low = tir::Lt(at, Expr(in[d]));
            here = here ? tir::And(here, low) : low;
          }
          inside = inside ? tir::And(inside, here) : here;
        }
      }
      indices.push_back(at);
    }
    const Expr value = e.Read(x, indices);
    if (!inside) return value;
    Expr fill = tir::Number(type, 0);
    if (e.HasInput(2)) fill = e.Read(e.Input(2), Indices(e.shape(e.Input(2)).size(), Expr(0)));
    return tir::Select(inside, value, fill);
  });
  return OkStatus();
}

}  // namespace temper::ops
