// Operators that are functions of the runtime, some with results whose extents only the run knows.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

Status CheckNumbers(const InferContext& c, size_t i) {
  if (IsInt(c.dtype(i)) || (IsFloat(c.dtype(i)) && ByteSize(c.dtype(i)) > 1)) return OkStatus();
  return c.Error(fmt::format("input {} is {}", i, Name(c.dtype(i))));
}

Status CheckScatter(const InferContext& c) {
  if (!IsInt(c.dtype(1))) return c.Error("indices must be integers");
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
  if (c.node().String("reduction", "none") != "none") TEMPER_RETURN_IF_ERROR(CheckNumbers(c, 0));
  return OkStatus();
}

}  // namespace

Status InferCumSum(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_RETURN_IF_ERROR(CheckNumbers(c, 0));
  if (!IsInt(c.dtype(1)) || ElementCount(c.shape(1)) != 1)
    return c.Error("its axis must be one integer");
  if (const Tensor* axis = c.Constant(1)) {
    TEMPER_RETURN_IF_ERROR(c.Axis(axis->IntAt(0), c.rank(0)).status());
  }
  return InferSame(c);
}

Status InferScatterElements(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckScatter(c));
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  bool fits = c.rank(1) == c.rank(0) && c.shape(2) == c.shape(1);
  for (int64_t d = 0; d < c.rank(0) && fits; ++d) {
    fits = d == axis || c.shape(1)[d] <= c.shape(0)[d];
  }
  if (fits) {
    TEMPER_RETURN_IF_ERROR(CheckConstantIndices(c, axis, 1));
    return InferSame(c);
  }
  return c.Error(fmt::format("indices {} and updates {} do not fit data {}",
                             ShapeToString(c.shape(1)), ShapeToString(c.shape(2)),
                             ShapeToString(c.shape(0))));
}

Status InferScatterND(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckScatter(c));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 1, 65));
  const Shape &data = c.shape(0), &indices = c.shape(1);
  const int64_t depth = indices.back();
  if (depth >= 0 && depth <= c.rank(0)) {
    Shape updates(indices.begin(), indices.end() - 1);
    updates.insert(updates.end(), data.begin() + depth, data.end());
    TEMPER_RETURN_IF_ERROR(CheckConstantIndices(c, 0, depth));
    if (updates == c.shape(2)) return InferSame(c);
  }
  return c.Error(fmt::format("indices {} and updates {} do not fit data {}", ShapeToString(indices),
                             ShapeToString(c.shape(2)), ShapeToString(data)));
}

Status InferTopK(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckNumbers(c, 0));
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", -1), c.rank(0)));
  const Tensor* k = c.Constant(1);
  if (!IsInt(c.dtype(1)) || ElementCount(c.shape(1)) != 1) return c.Error("K must be one integer");
  if (k == nullptr) return OkStatus();
  Shape out = c.shape(0);
  if (k->IntAt(0) < 0 || k->IntAt(0) > out[axis]) {
    return c.Error(fmt::format("K is {} for a dimension of {}", k->IntAt(0), out[axis]));
  }
  out[axis] = k->IntAt(0);
  TEMPER_RETURN_IF_ERROR(c.Set(0, c.dtype(0), out));
  return c.Set(1, DType::kInt64, std::move(out));
}

Status InferNonMaxSuppression(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 3));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 3, 3));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  const Shape &boxes = c.shape(0), &scores = c.shape(1);
  if (!IsFloat(c.dtype(0)) || boxes[0] != scores[0] || boxes[1] != scores[2] || boxes[2] != 4) {
    return c.Error(
        fmt::format("boxes {} do not fit scores {}", ShapeToString(boxes), ShapeToString(scores)));
  }
  for (size_t i = 2; i < 5; ++i) {
    if (!c.Has(i)) continue;
    if (ElementCount(c.shape(i)) != 1 || IsInt(c.dtype(i)) != (i == 2)) {
      return c.Error(fmt::format("input {} must be one number", i));
    }
  }
  int64_t most = scores[2];
  if (!c.Has(2)) most = 0;
  if (const Tensor* stated = c.Constant(2)) {
    most = std::clamp<int64_t>(stated->IntAt(0), 0, scores[2]);
  }
  const auto bound = ElementCount(Shape{scores[0], scores[1], most});
  if (!bound) return c.Error("it may find too many boxes");
  return c.SetBounded(0, DType::kInt64, {AtMost(*bound), Dim(3)});
}

Status InferNonZero(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  if (const Tensor* x = c.Constant(0)) {
    int64_t count = 0;
    for (int64_t i = 0; i < x->size(); ++i) count += x->DoubleAt(i) != 0;
    return c.Set(0, DType::kInt64, {c.rank(0), count});
  }
  return c.SetBounded(0, DType::kInt64, {Dim(c.rank(0)), AtMost(*ElementCount(c.shape(0)))});
}

Status InferCompress(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 1, 1));
  if (c.dtype(1) != DType::kBool) return c.Error("its condition must be bool");
  std::vector<Dim> out = {Dim(*ElementCount(c.shape(0)))};
  int64_t axis = 0;
  if (c.node().Has("axis")) {
    TEMPER_ASSIGN_OR_RETURN(axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
    out.assign(c.shape(0).begin(), c.shape(0).end());
  }
  const int64_t most = std::min(out[axis].value, c.shape(1)[0]);
  out[axis] = AtMost(most);
  if (const Tensor* keep = c.Constant(1)) {
    int64_t count = 0;
    for (int64_t i = 0; i < most; ++i) count += keep->IntAt(i) != 0;
    out[axis] = Dim(count);
  }
  return c.SetBounded(0, c.dtype(0), std::move(out));
}

Status InferUnique(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckNumbers(c, 0));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, c.node().Has("axis") ? 1 : 0, 65));
  std::vector<Dim> out = {Dim(*ElementCount(c.shape(0)))};
  int64_t axis = 0;
  if (c.node().Has("axis")) {
    TEMPER_ASSIGN_OR_RETURN(axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
    out.assign(c.shape(0).begin(), c.shape(0).end());
  }
  const int64_t size = out[axis].value;
  out[axis] = AtMost(size);
  TEMPER_RETURN_IF_ERROR(c.SetBounded(0, c.dtype(0), std::move(out)));
  TEMPER_RETURN_IF_ERROR(c.SetBounded(1, DType::kInt64, {AtMost(size)}));
  TEMPER_RETURN_IF_ERROR(c.SetBounded(2, DType::kInt64, {Dim(size)}));
  return c.SetBounded(3, DType::kInt64, {AtMost(size)});
}

Status InferDet(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  const Shape& x = c.shape(0);
  if (!IsFloat(c.dtype(0)) || x.back() != x[x.size() - 2]) {
    return c.Error(fmt::format("{} are no square matrices", ShapeToString(x)));
  }
  return c.Set(0, c.dtype(0), Shape(x.begin(), x.end() - 2));
}

Status InferMaxUnpool(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 5));
  if (c.dtype(1) != DType::kInt64 || c.shape(1) != c.shape(0)) {
    return c.Error("indices must be int64 of the shape of its input");
  }
  const Shape& x = c.shape(0);
  const size_t n = x.size() - 2;
  const std::vector<int64_t> kernel = c.node().Ints("kernel_shape");
  const std::vector<int64_t> strides = c.node().Ints("strides", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> pads = c.node().Ints("pads", std::vector<int64_t>(2 * n, 0));
  if (kernel.size() != n || strides.size() != n || pads.size() != 2 * n) {
    return c.Error("its window does not fit the dimensions of its input");
  }
  Shape out = {x[0], x[1]};
  for (size_t d = 0; d < n; ++d) {
    constexpr int64_t kLimit = int64_t{1} << 30;
    const auto bad = [&](int64_t v, int64_t low) { return v < low || v > kLimit; };
    if (bad(kernel[d], 1) || bad(strides[d], 1) || bad(pads[d], 0) || bad(pads[n + d], 0) ||
        bad(x[2 + d], 1)) {
      return c.Error("its window or input is out of range");
    }
    out.push_back((x[2 + d] - 1) * strides[d] + kernel[d] - pads[d] - pads[n + d]);
    if (out.back() < 1) return c.Error("its result would be empty");
  }
  if (c.Has(2)) {
    TEMPER_ASSIGN_OR_RETURN(const auto stated, c.ConstantInts(2));
    if (!stated) return OkStatus();
    bool fits = stated->size() == out.size();
    for (size_t d = 0; d < out.size() && fits; ++d) fits = (*stated)[d] >= out[d];
    if (!fits) {
      return c.Error(fmt::format("output_shape {} does not hold {}", ShapeToString(*stated),
                                 ShapeToString(out)));
    }
    out = *stated;
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferGridSample(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 5));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, c.rank(0), c.rank(0)));
  TEMPER_RETURN_IF_ERROR(CheckNumbers(c, 0));
  const Shape &x = c.shape(0), &grid = c.shape(1);
  if (!IsFloat(c.dtype(1)) || grid[0] != x[0] || grid.back() != c.rank(0) - 2) {
    return c.Error(fmt::format("grid {} does not fit {}", ShapeToString(grid), ShapeToString(x)));
  }
  for (size_t d = 2; d < x.size(); ++d) {
    if (x[d] < 1) return c.Error("its input has no elements");
  }
  Shape out = {x[0], x[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferRoiAlign(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 4, 4));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 2, 2));
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  const int64_t height = c.node().Int("output_height", 1), width = c.node().Int("output_width", 1);
  const int64_t ratio = c.node().Int("sampling_ratio", 0);
  const int64_t count = c.shape(1)[0];
  if (!IsFloat(c.dtype(0)) || c.shape(1)[1] != 4 || !IsInt(c.dtype(2)) ||
      c.shape(2) != Shape{count}) {
    return c.Error(fmt::format("rois {} and batch_indices {} do not fit together",
                               ShapeToString(c.shape(1)), ShapeToString(c.shape(2))));
  }
  if (height < 1 || width < 1 || ratio < 0 || std::max({height, width, ratio}) > (1 << 16)) {
    return c.Error("output_height, output_width or sampling_ratio is out of range");
  }
  return c.Set(0, c.dtype(0), {count, c.shape(0)[1], height, width});
}

}  // namespace temper::graph
