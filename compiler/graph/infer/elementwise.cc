#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

Result<Shape> BroadcastAll(const InferContext& c, size_t first = 0) {
  Shape shape = c.shape(first);
  for (size_t i = first + 1; i < c.node().inputs.size(); ++i) {
    const std::optional<Shape> both = Broadcast(shape, c.shape(i));
    if (!both) {
      return c.Error(fmt::format("shapes {} and {} do not broadcast", ShapeToString(shape),
                                 ShapeToString(c.shape(i))));
    }
    shape = *both;
  }
  return shape;
}

}  // namespace

Status InferSame(InferContext& c) { return c.Set(0, c.dtype(0), c.shape(0)); }

Status InferBroadcast(InferContext& c) {
  for (size_t i = 1; i < c.node().inputs.size(); ++i) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
  }
  TEMPER_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return c.Set(0, c.dtype(0), std::move(shape));
}

Status InferCompare(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  TEMPER_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return c.Set(0, DType::kBool, std::move(shape));
}

Status InferLogic(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) {
    if (c.dtype(i) != DType::kBool) return c.Error(fmt::format("input {} must be bool", i));
  }
  return InferCompare(c);
}

Status InferNot(InferContext& c) {
  if (c.dtype(0) != DType::kBool) return c.Error("input 0 must be bool");
  return InferSame(c);
}

Status InferPow(InferContext& c) {
  TEMPER_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return c.Set(0, c.dtype(0), std::move(shape));
}

Status InferClip(InferContext& c) {
  for (size_t i = 1; i < 3; ++i) {
    if (!c.Has(i)) continue;
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, i));
    if (ElementCount(c.shape(i)) != 1) return c.Error("min and max must be scalars");
  }
  return InferSame(c);
}

Status InferPRelu(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  const std::optional<Shape> both = Broadcast(c.shape(0), c.shape(1));
  if (!both || *both != c.shape(0)) {
    return c.Error(fmt::format("slope {} does not broadcast to {}", ShapeToString(c.shape(1)),
                               ShapeToString(c.shape(0))));
  }
  return InferSame(c);
}

Status InferFloat(InferContext& c) {
  if (!IsFloat(c.dtype(0))) return c.Error("its input must be floating point");
  return InferSame(c);
}

Status InferIsSpecial(InferContext& c) {
  if (!IsFloat(c.dtype(0))) return c.Error("its input must be floating point");
  return c.Set(0, DType::kBool, c.shape(0));
}

Status InferBitwise(InferContext& c) {
  if (!IsInt(c.dtype(0))) return c.Error("its inputs must be integers");
  return InferBroadcast(c);
}

Status InferBitShift(InferContext& c) {
  if (!IsUnsignedInt(c.dtype(0))) return c.Error("its inputs must be unsigned integers");
  const std::string direction = c.node().String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return c.Error(fmt::format("direction '{}' is neither LEFT nor RIGHT", direction));
  }
  return InferBroadcast(c);
}

Status InferCastLike(InferContext& c) { return c.Set(0, c.dtype(1), c.shape(0)); }

Status InferCast(InferContext& c) {
  const std::optional<DType> to = ParseDType(c.node().String("to", ""));
  if (!to) return c.Error("attribute 'to' names no element type");
  return c.Set(0, *to, c.shape(0));
}

Status InferWhere(InferContext& c) {
  if (c.dtype(0) != DType::kBool) return c.Error("the condition must be bool");
  TEMPER_RETURN_IF_ERROR(c.SameDType(1, 2));
  TEMPER_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(c));
  return c.Set(0, c.dtype(1), std::move(shape));
}

Status InferDropout(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(InferSame(c));
  return c.Set(1, DType::kBool, c.shape(0));
}

}  // namespace temper::graph
