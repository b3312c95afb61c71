#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {
namespace {

// Scores [N, C, d..], labels [N, d..], weights [C].
Status CheckLoss(const InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 65));
  if (!IsFloat(c.dtype(0))) return c.Error("its scores must be floating point");
  if (!IsInt(c.dtype(1))) return c.Error("its labels must be integers");
  Shape labels = c.shape(0);
  labels.erase(labels.begin() + 1);
  if (c.shape(1) != labels) {
    return c.Error(fmt::format("labels {} do not fit scores {}", ShapeToString(c.shape(1)),
                               ShapeToString(c.shape(0))));
  }
  if (!c.Has(2)) return OkStatus();
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
  if (c.shape(2) == Shape{c.shape(0)[1]}) return OkStatus();
  return c.Error(
      fmt::format("weights {} do not fit {} classes", ShapeToString(c.shape(2)), c.shape(0)[1]));
}

}  // namespace

Status InferNegativeLogLikelihoodLoss(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(CheckLoss(c));
  const bool all = c.node().String("reduction", "mean") == "none";
  return c.Set(0, c.dtype(0), all ? c.shape(1) : Shape{});
}

Status InferSoftmaxCrossEntropyLoss(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(InferNegativeLogLikelihoodLoss(c));
  return c.Set(1, c.dtype(0), c.shape(0));
}

}  // namespace temper::graph
