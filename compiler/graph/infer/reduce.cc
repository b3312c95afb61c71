#include <algorithm>
#include <numeric>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

Shape Reduced(const Shape& in, const std::vector<int64_t>& axes, bool keep) {
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      out.push_back(in[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return out;
}

}  // namespace

Result<std::optional<std::vector<int64_t>>> ReduceAxes(const InferContext& c) {
  std::vector<int64_t> axes;
  if (c.Has(1)) {
    TEMPER_ASSIGN_OR_RETURN(const auto values, c.ConstantInts(1));
    if (!values) return values;
    axes = *values;
  }
  if (axes.empty() && c.node().Int("noop_with_empty_axes", 0) == 0) {
    axes.resize(static_cast<size_t>(c.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  TEMPER_ASSIGN_OR_RETURN(axes, c.Axes(axes, c.rank(0)));
  return std::optional<std::vector<int64_t>>(std::move(axes));
}

Status InferReduce(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const auto axes, ReduceAxes(c));
  if (!axes) return OkStatus();
  return c.Set(0, c.dtype(0), Reduced(c.shape(0), *axes, c.node().Int("keepdims", 1) != 0));
}

Status InferArg(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", 0), c.rank(0)));
  return c.Set(0, DType::kInt64, Reduced(c.shape(0), {axis}, c.node().Int("keepdims", 1) != 0));
}

}  // namespace temper::graph
