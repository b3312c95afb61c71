#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

Status InferAffineGrid(InferContext& c) {
  if (!IsFloat(c.dtype(0))) return c.Error("theta must be floating point");
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 3));
  TEMPER_ASSIGN_OR_RETURN(const auto size, c.ConstantInts(1));
  if (!size) return OkStatus();
  const auto rank = static_cast<int64_t>(size->size());
  if ((rank != 4 && rank != 5) || c.shape(0) != Shape{(*size)[0], rank - 2, rank - 1}) {
    return c.Error(fmt::format("theta {} does not fit size {}", ShapeToString(c.shape(0)),
                               ShapeToString(*size)));
  }
  Shape out = *size;
  out.erase(out.begin() + 1);
  out.push_back(rank - 2);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferCenterCropPad(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto target, c.ConstantInts(1));
  if (!target) return OkStatus();
  std::vector<int64_t> axes = c.node().Ints("axes");
  if (axes.empty()) {
    axes.resize(c.shape(0).size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  TEMPER_RETURN_IF_ERROR(c.Axes(axes, c.rank(0)).status());
  if (axes.size() != target->size()) return c.Error("its shape and axes differ in length");
  Shape out = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*target)[i] < 0) return c.Error(fmt::format("its shape is {}", ShapeToString(*target)));
    out[axes[i] < 0 ? axes[i] + c.rank(0) : axes[i]] = (*target)[i];
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

// x [N, C * block, L] to [N, C, image..].
Status InferCol2Im(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 3));
  TEMPER_ASSIGN_OR_RETURN(const auto image, c.ConstantInts(1));
  TEMPER_ASSIGN_OR_RETURN(const auto block, c.ConstantInts(2));
  if (!image || !block) return OkStatus();
  if (image->empty() || image->size() != block->size()) {
    return c.Error("image_shape and block_shape differ in length");
  }
  for (int64_t size : *image) {
    if (size < 1 || size > (int64_t{1} << 30)) {
      return c.Error(fmt::format("image_shape is {}", ShapeToString(*image)));
    }
  }
  TEMPER_ASSIGN_OR_RETURN(const auto windows, ConvWindows(c, *image, *block));
  const std::optional<int64_t> taps = ElementCount(*block);
  Shape rows;
  for (const Window& w : windows) rows.push_back(w.out);
  const std::optional<int64_t> positions = ElementCount(rows);  // none where they overflow
  const Shape& x = c.shape(0);
  if (!taps || *taps < 1 || x[1] % *taps != 0 || !positions || x[2] != *positions) {
    return c.Error(fmt::format("{} does not fit blocks {} at {} positions", ShapeToString(x),
                               ShapeToString(*block), ShapeToString(rows)));
  }
  Shape out = {x[0], x[1] / *taps};
  out.insert(out.end(), image->begin(), image->end());
  return c.Set(0, c.dtype(0), std::move(out));
}

}  // namespace temper::graph
