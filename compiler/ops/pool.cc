// Pools: sliding and global, channels first or last.
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/window.h"

namespace temper::ops {
namespace {

using tir::Expr;

struct Pool {
  Window window;
  int channel_axis = 1;
  graph::Shape out, reduced;
  std::vector<int> tap_axis;

  Indices Taps(const Indices& r) const {
    Indices taps;
    for (int axis : tap_axis) taps.push_back(axis < 0 ? Expr(0) : r[axis]);
    return taps;
  }
  Expr Element(Emitter& e, const PaddedImage& image, const Indices& point, const Indices& r) const {
    const auto position = std::span(point).subspan(FirstSpatial(channel_axis), window.rank());
    return e.ReadTensor(image.tensor, WindowIndices(window, channel_axis, image, point[0],
                                                    point[channel_axis], position, Taps(r)));
  }
};

Result<Pool> PoolOf(Emitter& e) {
  Pool pool;
  TEMPER_ASSIGN_OR_RETURN(pool.window, WindowOf(e.graph(), e.node()));
  pool.out = e.shape(e.Output(0));
  pool.channel_axis = e.ChannelAxis(static_cast<int>(pool.out.size()));
  for (size_t d = 0; d < pool.window.rank(); ++d) {
    const bool one =
        pool.window.kernel[d] == 1 && !(pool.reduced.empty() && d + 1 == pool.window.rank());
    pool.tap_axis.push_back(one ? -1 : static_cast<int>(pool.reduced.size()));
    if (!one) pool.reduced.push_back(pool.window.kernel[d]);
  }
  return pool;
}

// The number of window elements that count, at the output position `o` of dimension `d`: those
// inside the operand, or with its padding.
Expr CountAlong(const Window& w, size_t d, const Expr& o, bool include_pad) {
  const int64_t low = include_pad ? -w.pads_before[d] : 0;
  const int64_t high = w.input[d] + (include_pad ? w.pads_after[d] : 0);
  const int64_t dilation = w.dilations[d];
  const Expr start = o * Expr(w.strides[d]) - Expr(w.pads_before[d]);
  // Taps below `low` and at or past `high` do not count.
  const Expr skipped =
      tir::Max(Expr(0), tir::FloorDiv(Expr(low + dilation - 1) - start, Expr(dilation)));
  const Expr end =
      tir::Min(Expr(w.kernel[d]), tir::FloorDiv(Expr(high + dilation - 1) - start, Expr(dilation)));
  return tir::Max(end - skipped, Expr(0));
}

// Whether every window has all its elements inside what counts.
bool AlwaysFull(const Window& w, bool include_pad) {
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t behind = include_pad ? w.After(d) - w.pads_after[d] : w.After(d);
    if (behind > 0 || (!include_pad && w.Before(d) > 0)) return false;
  }
  return true;
}

}  // namespace

Status BuildMaxPool(Emitter& e) {
  if (e.Output(1) != graph::kNone) return e.Refuse("its second output is not supported");
  TEMPER_ASSIGN_OR_RETURN(const Pool pool, PoolOf(e));
  const int x = e.Input(0);
  const DType type = e.dtype(x);
  // Zeros do where no element is negative: every window has an element of the operand.
  double fill = 0;
  const bool zeros = IsFloat(type) && IsNonNegative(e.graph(), x);
  if (!zeros) {
    if (IsFloat(type)) {
      fill = -std::numeric_limits<double>::infinity();
    } else if (type == DType::kInt8) {
      fill = std::numeric_limits<int8_t>::min();
    } else if (type == DType::kInt32) {
      fill = std::numeric_limits<int32_t>::min();
    } else if (type != DType::kUInt8) {
      return e.Refuse("operands of type " + std::string(Name(type)) + " are not supported");
    }
  }
  const PaddedImage image = Pad(e, x, pool.window, pool.channel_axis, fill);
  e.Define(e.Output(0), e.AddReduction(pool.out, pool.reduced, te::Combiner::kMax, "",
                                       [&](const Indices& point, const Indices& r) {
                                         return pool.Element(e, image, point, r);
                                       }));
  return OkStatus();
}

Status BuildAveragePool(Emitter& e) {
  TEMPER_ASSIGN_OR_RETURN(const Pool pool, PoolOf(e));
  const DType type = e.dtype(e.Input(0)), wide = AccumulatorType(type);
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  auto as = [](DType t, const Expr& x) { return x->type().dtype == t ? x : tir::Cast(t, x); };
  const PaddedImage image = Pad(e, e.Input(0), pool.window, pool.channel_axis, 0);
  const int sum = e.AddReduction(pool.out, pool.reduced, te::Combiner::kSum, ".sum",
                                 [&](const Indices& point, const Indices& r) {
                                   return as(wide, pool.Element(e, image, point, r));
                                 });
  const bool include_pad = e.node().Int("count_include_pad", 0) != 0;
  e.DefinePoints(0, [&](const Indices& point) {
    const Expr total = e.ReadTensor(sum, point);
    if (AlwaysFull(pool.window, include_pad)) {
      int64_t count = 1;
      for (int64_t k : pool.window.kernel) count *= k;
      return as(type, total * tir::Number(wide, 1.0 / static_cast<double>(count)));
    }
    Expr count(1);
    for (size_t d = 0; d < pool.window.rank(); ++d) {
      count = count *
              CountAlong(pool.window, d, point[FirstSpatial(pool.channel_axis) + d], include_pad);
    }
    return as(type, tir::Div(total, tir::Cast(wide, count)));
  });
  return OkStatus();
}

Status BuildGlobalPool(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape in = e.shape(x), out = e.shape(e.Output(0));
  const DType type = e.dtype(x), wide = AccumulatorType(type);
  if (in.size() < 3) return e.Refuse("its operand has no spatial dimensions");
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  const graph::Shape reduced(in.begin() + 2, in.end());
  auto as = [](DType t, const Expr& v) { return v->type().dtype == t ? v : tir::Cast(t, v); };
  auto element = [&](const Indices& point, const Indices& r) {
    Indices indices{point[0], point[1]};
    indices.insert(indices.end(), r.begin(), r.end());
    return e.Read(x, indices);
  };
  if (e.node().op == "GlobalMaxPool") {
    e.Define(e.Output(0), e.AddReduction(out, reduced, te::Combiner::kMax, "", element));
    return OkStatus();
  }
  const int sum = e.AddReduction(
      out, reduced, te::Combiner::kSum, ".sum",
      [&](const Indices& point, const Indices& r) { return as(wide, element(point, r)); });
  const auto count = static_cast<double>(*graph::ElementCount(reduced));
  e.DefinePoints(0, [&](const Indices& point) {
    return as(type, e.ReadTensor(sum, point) * tir::Number(wide, 1 / count));
  });
  return OkStatus();
}

}  // namespace temper::ops
