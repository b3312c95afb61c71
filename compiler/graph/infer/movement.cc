#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

SliceRange ClampSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  // A start or end below zero counts from the end. Nothing overflows: dim is below 2^48.
  const auto wrap = [dim](int64_t v) { return v < 0 ? std::max<int64_t>(v + dim, -1) : v; };
  const bool start_below = start < 0 && start + dim < 0;
  const bool end_below = end < 0 && end + dim < 0;
  SliceRange range;
  range.step = step;
  if (step > 0) {
    range.start = start_below ? 0 : std::min(wrap(start), dim);
    const int64_t stop = end_below ? 0 : std::min(wrap(end), dim);
    range.count = stop <= range.start ? 0 : (stop - range.start - 1) / step + 1;
  } else {
    range.start = std::min(start_below ? 0 : wrap(start), dim - 1);  // ONNX's, not numpy's rule
    const int64_t stop = end_below ? -1 : std::min(wrap(end), dim - 1);
    // -(step + 1) + 1 would overflow for the smallest step; dividing by the step itself does not.
    range.count = stop >= range.start ? 0 : (stop - range.start + 1) / step + 1;
  }
  return range;
}

Result<std::optional<std::vector<SliceRange>>> SliceRanges(const InferContext& c) {
  using Ranges = std::vector<SliceRange>;
  TEMPER_ASSIGN_OR_RETURN(const auto starts, c.ConstantInts(1));
  TEMPER_ASSIGN_OR_RETURN(const auto ends, c.ConstantInts(2));
  TEMPER_ASSIGN_OR_RETURN(auto axes, c.ConstantInts(3));
  TEMPER_ASSIGN_OR_RETURN(auto steps, c.ConstantInts(4));
  if (!starts || !ends || (c.Has(3) && !axes) || (c.Has(4) && !steps)) {
    return std::optional<Ranges>();
  }
  const size_t count = starts->size();
  if (!axes) {
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps.emplace(count, 1);
  if (ends->size() != count || axes->size() != count || steps->size() != count) {
    return c.Error("starts, ends, axes and steps differ in length");
  }
  TEMPER_RETURN_IF_ERROR(c.Axes(*axes, c.rank(0)).status());
  Ranges ranges;
  for (int64_t dim : c.shape(0)) ranges.push_back({0, 1, dim});
  for (size_t i = 0; i < count; ++i) {
    if ((*steps)[i] == 0) return c.Error("a step is 0");
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + c.rank(0) : (*axes)[i];
    ranges[axis] = ClampSlice((*starts)[i], (*ends)[i], (*steps)[i], c.shape(0)[axis]);
  }
  return std::optional<Ranges>(std::move(ranges));
}

Status InferConcat(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  Shape out = c.shape(0);
  for (size_t i = 1; i < c.node().inputs.size(); ++i) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    Shape expected = c.shape(i);
    if (c.rank(i) == c.rank(0)) expected[axis] = out[axis];
    if (expected != out) {
      return c.Error(fmt::format("shapes {} and {} cannot be joined along axis {}",
                                 ShapeToString(c.shape(0)), ShapeToString(c.shape(i)), axis));
    }
    out[axis] += c.shape(i)[axis];
    if (out[axis] > (int64_t{1} << 48)) return c.Error("its result is too large");
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Result<std::optional<std::vector<int64_t>>> SplitSizes(const InferContext& c, int64_t axis) {
  const int64_t dim = c.shape(0)[axis];
  std::vector<int64_t> sizes;
  if (c.Has(1)) {
    TEMPER_ASSIGN_OR_RETURN(auto values, c.ConstantInts(1));
    if (!values) return values;
    sizes = *values;
  } else {
    const int64_t parts = static_cast<int64_t>(c.node().outputs.size());
    const int64_t size = (dim + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::clamp<int64_t>(dim - i * size, 0, size));
    }
  }
  int64_t sum = 0;
  bool fits = sizes.size() == c.node().outputs.size();
  for (int64_t size : sizes) {
    fits = fits && size >= 0 && size <= dim - sum;
    if (fits) sum += size;
  }
  if (!fits || sum != dim) {
    return c.Error(fmt::format("{} cannot be split into {} along axis {} for {} outputs",
                               ShapeToString(c.shape(0)), ShapeToString(sizes), axis,
                               c.node().outputs.size()));
  }
  return std::optional<std::vector<int64_t>>(std::move(sizes));
}

Status InferSplit(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  TEMPER_ASSIGN_OR_RETURN(const auto sizes, SplitSizes(c, axis));
  if (!sizes) return OkStatus();
  for (size_t i = 0; i < sizes->size(); ++i) {
    Shape out = c.shape(0);
    out[axis] = (*sizes)[i];
    TEMPER_RETURN_IF_ERROR(c.Set(i, c.dtype(0), std::move(out)));
  }
  return OkStatus();
}

Status InferSlice(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto ranges, SliceRanges(c));
  if (!ranges) return OkStatus();
  Shape out;
  for (const SliceRange& range : *ranges) out.push_back(range.count);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferPad(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto pads, c.ConstantInts(1));
  TEMPER_ASSIGN_OR_RETURN(auto axes, c.ConstantInts(3));
  if (!pads || (c.Has(3) && !axes)) return OkStatus();
  if (!axes) {
    axes.emplace(static_cast<size_t>(c.rank(0)));
    std::iota(axes->begin(), axes->end(), 0);
  }
  TEMPER_RETURN_IF_ERROR(c.Axes(*axes, c.rank(0)).status());
  if (c.Has(2)) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
    if (ElementCount(c.shape(2)) != 1) return c.Error("its value must be one number");
  }
  const size_t count = axes->size();
  if (pads->size() != 2 * count) {
    return c.Error(fmt::format("pads is {} for {} axes", ShapeToString(*pads), count));
  }
  const std::string mode = c.node().String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return c.Error(fmt::format("mode '{}' is unknown", mode));
  }
  constexpr int64_t kLimit = int64_t{1} << 48;
  Shape out = c.shape(0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + c.rank(0) : (*axes)[i];
    const int64_t begin = (*pads)[i];
    const int64_t end = (*pads)[count + i];
    const int64_t dim = out[axis];
    bool fits =
        std::min(begin, end) > -kLimit && std::max(begin, end) < kLimit && dim + begin + end >= 0;
    // Negative padding cuts first. Constants may then fill more than what was left; mirrored
    // elements come from what was left once, and an edge or a cycle needs an element.
    if (fits && mode != "constant" && dim + begin + end > 0) {
      const int64_t left = dim + std::min<int64_t>(begin, 0) + std::min<int64_t>(end, 0);
      fits = left > 0 && (mode != "reflect" || std::max(begin, end) < left);
    }
    if (!fits) {
      return c.Error(fmt::format("padding {} and {} do not fit dimension {} of {}", begin, end,
                                 axis, ShapeToString(c.shape(0))));
    }
    out[axis] = dim + begin + end;
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferExpand(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto target, c.ConstantInts(1));
  if (!target) return OkStatus();
  for (int64_t dim : *target) {
    if (dim < 0) return c.Error(fmt::format("its shape is {}", ShapeToString(*target)));
  }
  std::optional<Shape> out = Broadcast(c.shape(0), *target);
  if (!out) {
    return c.Error(fmt::format("{} does not broadcast to {}", ShapeToString(c.shape(0)),
                               ShapeToString(*target)));
  }
  return c.Set(0, c.dtype(0), std::move(*out));
}

Status InferTile(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto repeats, c.ConstantInts(1));
  if (!repeats) return OkStatus();
  if (static_cast<int64_t>(repeats->size()) != c.rank(0)) {
    return c.Error(fmt::format("repeats is {} for the shape {}", ShapeToString(*repeats),
                               ShapeToString(c.shape(0))));
  }
  Shape out;
  for (size_t i = 0; i < repeats->size(); ++i) {
    const std::optional<int64_t> dim = ElementCount(Shape{c.shape(0)[i], (*repeats)[i]});
    if (!dim) return c.Error(fmt::format("repeats is {}", ShapeToString(*repeats)));
    out.push_back(*dim);
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Status CheckConstantIndices(const InferContext& c, int64_t axis, int64_t count) {
  const Tensor* indices = c.Constant(1);
  if (indices == nullptr) return OkStatus();
  int64_t at = 0;
  for (int64_t index : indices->AsInts()) {
    const int64_t dim = axis + at;
    if (++at == count) at = 0;
    const int64_t extent = c.shape(0)[dim];
    if (index >= -extent && index < extent) continue;
    return c.Error(fmt::format("index {} is out of range for dimension {} of {}", index, dim,
                               ShapeToString(c.shape(0))));
  }
  return OkStatus();
}

Status InferGather(InferContext& c) {
  if (!IsInt(c.dtype(1))) return c.Error("indices must be integers");
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  TEMPER_RETURN_IF_ERROR(CheckConstantIndices(c, axis, 1));
  Shape out(c.shape(0).begin(), c.shape(0).begin() + axis);
  out.insert(out.end(), c.shape(1).begin(), c.shape(1).end());
  out.insert(out.end(), c.shape(0).begin() + axis + 1, c.shape(0).end());
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferGatherElements(InferContext& c) {
  if (!IsInt(c.dtype(1))) return c.Error("indices must be integers");
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, c.rank(0), c.rank(0)));
  for (int64_t i = 0; i < c.rank(0); ++i) {
    if (i != axis && c.shape(1)[i] > c.shape(0)[i]) {
      return c.Error(fmt::format("indices {} do not fit data {}", ShapeToString(c.shape(1)),
                                 ShapeToString(c.shape(0))));
    }
  }
  TEMPER_RETURN_IF_ERROR(CheckConstantIndices(c, axis, 1));
  return c.Set(0, c.dtype(0), c.shape(1));
}

}  // namespace temper::graph
