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
  if (*graph::ElementCount(e.shape(e.Input(0))) == 0) {
    return e.Refuse("its operand has no elements");
  }
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

namespace {

// Where in the operand, counted through all of it, each window's first largest element is.
void DefineIndices(Emitter& e, const Pool& pool, const PaddedImage& image, int largest) {
  const Window& w = pool.window;
  const graph::Shape in = e.shape(e.Input(0));
  const int64_t none = std::numeric_limits<int64_t>::max();
  const size_t first_spatial = FirstSpatial(pool.channel_axis);
  int64_t pixels = 1;
  for (int64_t extent : w.input) pixels *= extent;
  const int at = e.AddReduction(
      pool.out, pool.reduced, te::Combiner::kMin, ".at",
      [&](const Indices& point, const Indices& r) {
        const Expr v = pool.Element(e, image, point, r);
        Expr hit = tir::Eq(v, e.ReadTensor(largest, point));
        if (IsFloat(v->type().dtype)) hit = tir::Or(hit, tir::Ne(v, v));
        const Indices taps = pool.Taps(r);
        Expr flat(0);
        for (size_t d = 0; d < w.rank(); ++d) {
          const Expr i = point[first_spatial + d] * Expr(w.strides[d]) +
                         taps[d] * Expr(w.dilations[d]) - Expr(w.pads_before[d]);
          hit = tir::And(hit, tir::And(tir::Le(Expr(0), i), tir::Lt(i, Expr(w.input[d]))));
          flat = flat * Expr(w.input[d]) + i;
        }
        return tir::Select(hit, flat, Expr(none));
      });
  const bool columns_first = e.node().Int("storage_order", 0) != 0;
  e.DefinePoints(1, [&](const Indices& point) {
    Expr flat = e.ReadTensor(at, point);
    if (columns_first) {
      Expr rest = flat, turned(0);
      Indices position(w.rank());
      for (size_t d = w.rank(); d-- > 0;) {
        position[d] = tir::FloorMod(rest, Expr(w.input[d]));
        rest = tir::FloorDiv(rest, Expr(w.input[d]));
      }
      for (size_t d = w.rank(); d-- > 0;) turned = turned * Expr(w.input[d]) + position[d];
      flat = turned;
    }
    const Expr image_number = point[0] * Expr(in[pool.channel_axis]) + point[pool.channel_axis];
    return image_number * Expr(pixels) + flat;
  });
}

}  // namespace

namespace {

// Whether each window, without gaps, has an element of the operand: then the nearest one may stand
// for those outside, which is in the window too.
bool NearestIsInside(const Window& w) {
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t last_start = (w.output[d] - 1) * w.strides[d] - w.pads_before[d];
    if (w.dilations[d] != 1 || w.pads_before[d] >= w.kernel[d] || last_start >= w.input[d]) {
      return false;
    }
  }
  return true;
}

// Spares the padded copy that other fills than zero need.
void DefineLargestOfNearest(Emitter& e, const Pool& pool) {
  const int x = e.Input(0);
  const size_t first = FirstSpatial(pool.channel_axis);
  PaddedImage image;
  image.tensor = e.TensorOf(x);
  image.offset.assign(pool.window.rank() + 2, 0);
  e.Define(e.Output(0), e.AddReduction(pool.out, pool.reduced, te::Combiner::kMax, "",
                                       [&](const Indices& point, const Indices& r) {
                                         const auto position =
                                             std::span(point).subspan(first, pool.window.rank());
                                         Indices at = WindowIndices(
                                             pool.window, pool.channel_axis, image, point[0],
                                             point[pool.channel_axis], position, pool.Taps(r));
                                         for (size_t d = 0; d < pool.window.rank(); ++d) {
                                           const Expr last(pool.window.input[d] - 1);
                                           if (pool.window.Before(d) > 0) {
                                             at[first + d] = tir::Max(at[first + d], Expr(0));
                                           }
                                           if (pool.window.After(d) > 0) {
                                             at[first + d] = tir::Min(at[first + d], last);
                                           }
                                         }
                                         return e.ReadTensor(image.tensor, at);
                                       }));
}

}  // namespace

Status BuildMaxPool(Emitter& e) {
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
  const bool in_halo = zeros && HaloHolds(e, x, pool.window, pool.channel_axis);
  // Along contiguous rows the nearest are no vectors; there padding is a copy of a few rows.
  if (pool.window.ReadsOutside() && !in_halo && e.Output(1) == graph::kNone &&
      pool.channel_axis != 1 && NearestIsInside(pool.window)) {
    DefineLargestOfNearest(e, pool);
    return OkStatus();
  }
  const PaddedImage image = Pad(e, x, pool.window, pool.channel_axis, fill);
  const int largest = e.AddReduction(
      pool.out, pool.reduced, te::Combiner::kMax, "",
      [&](const Indices& point, const Indices& r) { return pool.Element(e, image, point, r); });
  e.Define(e.Output(0), largest);
  if (e.Output(1) != graph::kNone) DefineIndices(e, pool, image, largest);
  return OkStatus();
}

// The p-th root of the sum of the p-th powers.
Status BuildLpPool(Emitter& e) {
  TEMPER_ASSIGN_OR_RETURN(const Pool pool, PoolOf(e));
  const DType type = e.dtype(e.Input(0)), wide = AccumulatorType(type);
  const int64_t p = e.node().Int("p", 2);
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  if (p < 1) return e.Refuse("a p that is not positive");
  const Expr power = tir::Number(wide, static_cast<double>(p));
  const PaddedImage image = Pad(e, e.Input(0), pool.window, pool.channel_axis, 0);
  const int sum =
      e.AddReduction(pool.out, pool.reduced, te::Combiner::kSum, ".sum",
                     [&](const Indices& point, const Indices& r) {
                       const Expr x = As(wide, pool.Element(e, image, point, r));
                       if (p == 2) return x * x;
                       const Expr size = tir::Call(tir::Intrinsic::kAbs, {x});
                       return p == 1 ? size : tir::Call(tir::Intrinsic::kPow, {size, power});
                     });
  e.DefinePoints(0, [&](const Indices& point) {
    Expr y = e.ReadTensor(sum, point);
    if (p == 2) y = tir::Call(tir::Intrinsic::kSqrt, {y});
    if (p > 2) {
      y = tir::Call(tir::Intrinsic::kPow, {y, tir::Number(wide, 1 / static_cast<double>(p))});
    }
    return As(type, y);
  });
  return OkStatus();
}

// Adds up the blocks that cover each pixel.
Status BuildCol2Im(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape out = e.shape(e.Output(0));
  TEMPER_ASSIGN_OR_RETURN(const auto block, e.ConstantInts(2, "block_shape"));
  const size_t rank = block.size();
  // An empty list counts as none, as in its inference.
  const auto list = [&](const char* name, size_t size, int64_t absent) {
    std::vector<int64_t> values = e.node().Ints(name);
    if (values.empty()) values.assign(size, absent);
    return values;
  };
  const std::vector<int64_t> strides = list("strides", rank, 1);
  const std::vector<int64_t> dilations = list("dilations", rank, 1);
  const std::vector<int64_t> pads = list("pads", 2 * rank, 0);
  const DType type = e.dtype(x), wide = AccumulatorType(type);
  if (type == DType::kBool) return e.Refuse("bool operands are not supported");
  const int sum = e.AddReduction(
      out, block, te::Combiner::kSum, ".sum", [&](const Indices& p, const Indices& r) {
        Expr inside = tir::Bool(true), row = p[1], column(0);
        for (size_t d = 0; d < rank; ++d) {
          const int64_t reach = (block[d] - 1) * dilations[d] + 1;
          const int64_t count = (out[2 + d] + pads[d] + pads[rank + d] - reach) / strides[d] + 1;
          const Expr start = p[2 + d] + Expr(pads[d]) - r[d] * Expr(dilations[d]);
          const Expr at = tir::FloorDiv(start, Expr(strides[d]));
          inside = tir::And(inside, tir::Eq(tir::FloorMod(start, Expr(strides[d])), Expr(0)));
          inside = tir::And(inside, tir::And(tir::Le(Expr(0), at), tir::Lt(at, Expr(count))));
          row = row * Expr(block[d]) + r[d];
          column = column * Expr(count) + tir::Min(tir::Max(at, Expr(0)), Expr(count - 1));
        }
        return tir::Select(inside, As(wide, e.Read(x, Indices{p[0], row, column})),
                           tir::Number(wide, 0));
      });
  e.DefinePoints(0, [&](const Indices& p) { return As(type, e.ReadTensor(sum, p)); });
  return OkStatus();
}

Status BuildAveragePool(Emitter& e) {
  TEMPER_ASSIGN_OR_RETURN(const Pool pool, PoolOf(e));
  const DType type = e.dtype(e.Input(0)), wide = AccumulatorType(type);
  if (!IsFloat(type)) return e.Refuse("operands that are not floating point");
  const PaddedImage image = Pad(e, e.Input(0), pool.window, pool.channel_axis, 0);
  const int sum = e.AddReduction(pool.out, pool.reduced, te::Combiner::kSum, ".sum",
                                 [&](const Indices& point, const Indices& r) {
                                   return As(wide, pool.Element(e, image, point, r));
                                 });
  const bool include_pad = e.node().Int("count_include_pad", 0) != 0;
  const size_t rank = pool.window.rank();
  if (AlwaysFull(pool.window, include_pad)) {
    double count = 1;
    for (int64_t k : pool.window.kernel) count *= static_cast<double>(k);
    e.DefinePoints(0, [&](const Indices& point) {
      return As(type, e.ReadTensor(sum, point) * tir::Number(wide, 1.0 / count));
    });
    return OkStatus();
  }
  const auto count_at = [&](std::span<const Expr> position) {
    Expr count(1);
    for (size_t d = 0; d < rank; ++d) {
      count = count * CountAlong(pool.window, d, position[d], include_pad);
    }
    return tir::Cast(wide, count);
  };
  const size_t first = FirstSpatial(pool.channel_axis);
  // Along rows the counts would be vectors, worked out for every plane.
  int scale = -1;
  if (pool.channel_axis == 1) {
    scale = e.AddPoints(pool.window.output, ".scale", [&](const Indices& position) {
      return tir::Div(tir::Number(wide, 1), count_at(position));
    });
  }
  e.DefinePoints(0, [&](const Indices& point) {
    const Expr total = e.ReadTensor(sum, point);
    const auto position = std::span(point).subspan(first, rank);
    if (scale < 0) return As(type, tir::Div(total, count_at(position)));
    return As(type, total * e.ReadTensor(scale, Indices(position.begin(), position.end())));
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
  if (*graph::ElementCount(reduced) == 0) return e.Refuse("its operand has no elements");
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
      [&](const Indices& point, const Indices& r) { return As(wide, element(point, r)); });
  const auto count = static_cast<double>(*graph::ElementCount(reduced));
  e.DefinePoints(0, [&](const Indices& point) {
    return As(type, e.ReadTensor(sum, point) * tir::Number(wide, 1 / count));
  });
  return OkStatus();
}

}  // namespace temper::ops
