#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

Status InferTrilu(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  if (c.Has(1) && (!IsInt(c.dtype(1)) || ElementCount(c.shape(1)) != 1)) {
    return c.Error("k must be one integer");
  }
  return InferSame(c);
}

Status InferEyeLike(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 2));
  DType dtype = c.dtype(0);
  if (c.node().Has("dtype")) {
    const std::optional<DType> stated = ParseDType(c.node().String("dtype", ""));
    if (!stated) return c.Error("attribute 'dtype' names no element type");
    dtype = *stated;
  }
  return c.Set(0, dtype, c.shape(0));
}

Status InferOneHot(InferContext& c) {
  if (c.dtype(0) == DType::kBool) return c.Error("indices must be numbers");
  if (ElementCount(c.shape(1)) != 1) return c.Error("depth must be one number");
  if (c.shape(2) != Shape{2}) return c.Error("values must be two elements: off and on");
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis,
                          c.Axis(c.node().Int("axis", -1), c.rank(0), /*allow_end=*/true));
  const Tensor* depth = c.Constant(1);
  if (depth == nullptr) return OkStatus();
  const double size = depth->DoubleAt(0);
  if (!(size >= 0 && size < 0x1p48)) return c.Error(fmt::format("depth is {}", size));
  Shape out = c.shape(0);
  out.insert(out.begin() + axis, static_cast<int64_t>(size));
  return c.Set(0, c.dtype(2), std::move(out));
}

Status InferGatherND(InferContext& c) {
  if (!IsInt(c.dtype(1))) return c.Error("indices must be integers");
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 1, 65));
  const int64_t batch = c.node().Int("batch_dims", 0);
  const Shape &data = c.shape(0), &indices = c.shape(1);
  if (batch < 0 || batch >= std::min(c.rank(0), c.rank(1)) ||
      !std::equal(data.begin(), data.begin() + batch, indices.begin())) {
    return c.Error(fmt::format("{} batch dimensions do not fit data {} and indices {}", batch,
                               ShapeToString(data), ShapeToString(indices)));
  }
  const int64_t depth = indices.back();
  if (depth < 1 || depth > c.rank(0) - batch) {
    return c.Error(fmt::format("indices {} name {} dimensions of data {}", ShapeToString(indices),
                               depth, ShapeToString(data)));
  }
  TEMPER_RETURN_IF_ERROR(CheckConstantIndices(c, batch, depth));
  Shape out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + depth, data.end());
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferReverseSequence(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  const int64_t batch = c.node().Int("batch_axis", 1), time = c.node().Int("time_axis", 0);
  if (batch == time || std::min(batch, time) < 0 || std::max(batch, time) > 1) {
    return c.Error("batch_axis and time_axis must be 0 and 1");
  }
  if (!IsInt(c.dtype(1)) || c.shape(1) != Shape{c.shape(0)[batch]}) {
    return c.Error(fmt::format("sequence_lens must be {} integers", c.shape(0)[batch]));
  }
  return InferSame(c);
}

}  // namespace temper::graph
