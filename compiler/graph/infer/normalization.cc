#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

Status InferBatchNormalization(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  const Shape channels = {c.shape(0)[1]};
  for (size_t i = 1; i < 5; ++i) {
    if (c.shape(i) != channels) {
      return c.Error(fmt::format("input {} has the shape {} for {} channels", i,
                                 ShapeToString(c.shape(i)), channels[0]));
    }
  }
  return InferSame(c);
}

Status InferLayerNormalization(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", -1), c.rank(0)));
  const Shape normalized(c.shape(0).begin() + axis, c.shape(0).end());
  for (size_t i = 1; i < 3; ++i) {
    if (c.Has(i) && Broadcast(normalized, c.shape(i)) != normalized) {
      return c.Error(fmt::format("input {} has the shape {}, which does not broadcast to {}", i,
                                 ShapeToString(c.shape(i)), ShapeToString(normalized)));
    }
  }
  TEMPER_RETURN_IF_ERROR(InferSame(c));
  Shape statistics = c.shape(0);
  for (size_t i = static_cast<size_t>(axis); i < statistics.size(); ++i) statistics[i] = 1;
  TEMPER_RETURN_IF_ERROR(c.Set(1, DType::kFloat32, statistics));
  return c.Set(2, DType::kFloat32, statistics);
}

Status InferInstanceNormalization(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 65));
  const Shape channels = {c.shape(0)[1]};
  for (size_t i = 1; i < 3; ++i) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    if (c.shape(i) == channels) continue;
    return c.Error(fmt::format("input {} has the shape {} for {} channels", i,
                               ShapeToString(c.shape(i)), channels[0]));
  }
  return InferFloat(c);
}

Status InferGroupNormalization(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 3, 65));
  const int64_t channels = c.shape(0)[1];
  const int64_t groups = c.node().Int("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return c.Error(fmt::format("{} groups do not divide {} channels", groups, channels));
  }
  for (size_t i = 1; i < 3; ++i) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    if (c.shape(i) == Shape{channels} || c.shape(i) == Shape{groups}) continue;
    return c.Error(fmt::format("input {} has the shape {} for {} channels in {} groups", i,
                               ShapeToString(c.shape(i)), channels, groups));
  }
  return InferFloat(c);
}

Status InferRmsNormalization(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.node().Int("axis", -1), c.rank(0)));
  const Shape normalized(c.shape(0).begin() + axis, c.shape(0).end());
  if (!IsFloat(c.dtype(1))) return c.Error("its inputs must be floating point");
  if (Broadcast(normalized, c.shape(1)) != normalized) {
    return c.Error(fmt::format("the scale {} does not broadcast to {}", ShapeToString(c.shape(1)),
                               ShapeToString(normalized)));
  }
  return InferFloat(c);
}

Status InferSoftmax(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.Axis(c.node().Int("axis", -1), c.rank(0)).status());
  return InferSame(c);
}

Status InferLRN(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  if (c.node().Int("size", 0) < 1) return c.Error("attribute 'size' must be positive");
  return InferSame(c);
}

}  // namespace temper::graph
