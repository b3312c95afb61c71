#include "compiler/graph/infer/context.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::graph {

InferContext::InferContext(Graph& graph, int node_id) : graph_(graph), node_id_(node_id) {
  for (int input : node().inputs) {
    shapes_.push_back(input == kNone ? Shape() : graph_.shape(input));
  }
}

Result<std::optional<std::vector<int64_t>>> InferContext::ConstantInts(size_t input) const {
  const Tensor* tensor = Constant(input);
  if (tensor == nullptr) return std::optional<std::vector<int64_t>>();
  if (IsFloat(tensor->dtype) || tensor->shape.size() > 1) {
    return Error(fmt::format("input {} must be a list of integers, not {}{}", input,
                             Name(tensor->dtype), ShapeToString(tensor->shape)));
  }
  return std::optional<std::vector<int64_t>>(tensor->AsInts());
}

namespace {

// As many as constants and inputs may have. Each node's types are of the size of its rank.
constexpr size_t kMaxRank = 64;

std::string TooManyDimensions(size_t rank) {
  return fmt::format("its result has {} dimensions; at most {} are possible", rank, kMaxRank);
}

}  // namespace

Status InferContext::Set(size_t output, DType dtype, Shape shape) {
  if (shape.size() > kMaxRank) return Error(TooManyDimensions(shape.size()));
  if (!ByteCount(dtype, shape).has_value()) {
    return Error(fmt::format("its result of shape {} is too large", ShapeToString(shape)));
  }
  const int id = node().Output(output);
  if (id != kNone) graph_.SetType(id, TensorType(dtype, shape));
  return OkStatus();
}

Status InferContext::SetBounded(size_t output, DType dtype, std::vector<Dim> dims) {
  if (dims.size() > kMaxRank) return Error(TooManyDimensions(dims.size()));
  ValueType type;
  type.dtype = dtype;
  type.has_rank = true;
  type.dims = std::move(dims);
  if (!ByteCount(dtype, type.LargestShape()).has_value()) {
    return Error(fmt::format("its result of shape {} is too large", type.ToString()));
  }
  const int id = node().Output(output);
  if (id != kNone) graph_.SetType(id, std::move(type));
  return OkStatus();
}

Status InferContext::Error(const std::string& what) const {
  return InvalidArgument(node().Describe() + ": " + what);
}

Result<int64_t> InferContext::Axis(int64_t axis, int64_t rank, bool allow_end) const {
  const int64_t end = rank + (allow_end ? 1 : 0);
  if (axis < -end || axis >= end) {
    return Error(fmt::format("axis {} does not exist in a tensor of {} dimensions", axis, rank));
  }
  return axis < 0 ? axis + end : axis;
}

Result<std::vector<int64_t>> InferContext::Axes(const std::vector<int64_t>& axes,
                                                int64_t rank) const {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    TEMPER_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
    result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    return Error("an axis is named twice");
  }
  return result;
}

Status InferContext::CheckRank(size_t input, int64_t min, int64_t max) const {
  if (rank(input) >= min && rank(input) <= max) return OkStatus();
  return Error(fmt::format("input {} has the shape {}; it needs {} dimensions", input,
                           ShapeToString(shape(input)),
                           min == max ? fmt::format("{}", min)
                           : max > 64 ? fmt::format("at least {}", min)
                                      : fmt::format("{} to {}", min, max)));
}

Status InferContext::SameDType(size_t a, size_t b) const {
  if (dtype(a) == dtype(b)) return OkStatus();
  return Error(
      fmt::format("input {} is {} but input {} is {}", a, Name(dtype(a)), b, Name(dtype(b))));
}

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    // i counts from the last dimension.
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    result[result.size() - 1 - i] = da == 1 ? db : da;
  }
  return result;
}

}  // namespace temper::graph
