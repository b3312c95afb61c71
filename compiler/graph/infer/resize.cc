#include "compiler/graph/infer/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

using Axes = std::vector<ResizeAxis>;

Status SetScales(const InferContext& c, const Tensor& scales, const std::vector<int64_t>& axes,
                 bool crop, Axes& all) {
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& a = all[axes[i]];
    const double scale = scales.DoubleAt(static_cast<int64_t>(i));
    const double extent = crop ? a.roi_end - a.roi_start : 1;
    const double size = std::floor(static_cast<double>(a.in) * extent * scale);
    if (!(scale > 0) || !(size >= 0 && size < 0x1p40)) {
      return c.Error(fmt::format("scale {} of dimension {}", scale, axes[i]));
    }
    a.scale_up = scale;
    a.out = static_cast<int64_t>(size);
  }
  return OkStatus();
}

Status SetSizes(const InferContext& c, const std::vector<int64_t>& sizes,
                const std::vector<int64_t>& axes, Axes& all) {
  const std::string policy = c.node().String("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return c.Error(fmt::format("keep_aspect_ratio_policy '{}' is unknown", policy));
  }
  // The scale that all axes share, as a quotient.
  int64_t up = 0, down = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& a = all[axes[i]];
    if (sizes[i] < 0 || sizes[i] > (int64_t{1} << 40) || a.in < 1) {
      return c.Error(fmt::format("{} cannot be resized to {}", a.in, sizes[i]));
    }
    a.out = sizes[i];
    a.scale_up = static_cast<double>(sizes[i]);
    a.scale_down = static_cast<double>(a.in);
    const double here = a.Scale(), best = static_cast<double>(up) / static_cast<double>(down);
    if (i == 0 || (policy == "not_larger" ? here < best : here > best)) up = sizes[i], down = a.in;
  }
  if (policy == "stretch") return OkStatus();
  for (int64_t axis : axes) {
    ResizeAxis& a = all[axis];
    a.scale_up = static_cast<double>(up);
    a.scale_down = static_cast<double>(down);
    const double size = std::floor(a.Scale() * static_cast<double>(a.in) + 0.5);
    if (!(size <= 0x1p40)) {
      return c.Error(fmt::format("dimension {} of its result would be {}", axis, size));
    }
    a.out = static_cast<int64_t>(size);
  }
  return OkStatus();
}

}  // namespace

Result<std::optional<std::vector<ResizeAxis>>> ResizeAxes(const InferContext& c) {
  Axes all;
  for (int64_t dim : c.shape(0)) all.push_back({dim, dim});
  std::vector<int64_t> axes = c.node().Ints("axes");
  if (axes.empty()) {
    axes.resize(all.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  TEMPER_RETURN_IF_ERROR(c.Axes(axes, c.rank(0)).status());
  for (int64_t& axis : axes) axis += axis < 0 ? c.rank(0) : 0;
  const auto count = static_cast<int64_t>(axes.size());
  const bool crop =
      c.node().String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (crop) {
    const Tensor* roi = c.Constant(1);
    if (roi == nullptr && c.Has(1)) return std::optional<Axes>();
    if (roi == nullptr || roi->size() != 2 * count || !IsFloat(roi->dtype)) {
      return c.Error("tf_crop_and_resize needs a start and an end for each axis in roi");
    }
    for (int64_t i = 0; i < count; ++i) {
      all[axes[i]].roi_start = roi->DoubleAt(i);
      all[axes[i]].roi_end = roi->DoubleAt(count + i);
    }
  }
  // An empty tensor stands for an absent one, too.
  const auto given = [&](size_t i) { return c.Has(i) && ElementCount(c.shape(i)) != 0; };
  if (given(2) == given(3)) return c.Error("it needs either scales or sizes");
  const size_t which = given(2) ? 2 : 3;
  if (c.shape(which) != Shape{count}) {
    return c.Error(fmt::format("input {} has the shape {} for {} axes", which,
                               ShapeToString(c.shape(which)), count));
  }
  const Tensor* values = c.Constant(which);
  if (values == nullptr) return std::optional<Axes>();
  if (which == 2) {
    TEMPER_RETURN_IF_ERROR(SetScales(c, *values, axes, crop, all));
  } else {
    if (!IsInt(values->dtype)) return c.Error("sizes must be integers");
    TEMPER_RETURN_IF_ERROR(SetSizes(c, values->AsInts(), axes, all));
  }
  return std::optional<Axes>(std::move(all));
}

Status InferResize(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto axes, ResizeAxes(c));
  if (!axes) return OkStatus();
  Shape out;
  for (const ResizeAxis& a : *axes) {
    if (a.in < 1 && a.out > 0) return c.Error("its input has no elements");
    out.push_back(a.out);
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

}  // namespace temper::graph
