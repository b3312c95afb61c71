// Losses, as the operators' definitions in ONNX.
#include <fmt/format.h>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// -log_prob[n, target[n, d..], d..] * weight[target], with nothing where the target is ignored,
// reduced as the node says. `log_prob` is [N, C, d..].
int Loss(Composer& c, int log_prob, int target, int weight) {
  const bool has_ignored = c.node().Has("ignore_index");
  const int64_t ignored = c.node().Int("ignore_index", 0);
  const std::string reduction = c.node().String("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    c.Refuse(fmt::format("reduction '{}' is unknown", reduction));
  }
  const DType type = c.dtype(log_prob);
  target = c.Cast(target, DType::kInt64);
  int skip = kNone;
  if (has_ignored) {
    skip = c.Op("Equal", {target, c.Number(DType::kInt64, static_cast<double>(ignored))});
    target = c.Where(skip, c.Number(DType::kInt64, 0), target);
  }
  const int picked =
      c.Op("GatherElements", {log_prob, c.Unsqueeze(target, {1})}, {{"axis", int64_t{1}}});
  if (!c.ok()) return kNone;
  const Shape shape = c.shape(target);
  int loss = c.Op("Neg", {c.Reshape(picked, shape)});
  int factor = kNone;
  if (weight != kNone) {
    factor = c.Gather(weight, target, 0);
  } else if (has_ignored) {
    factor = c.Expand(c.Number(type, 1), shape);
  }
  if (has_ignored) factor = c.Where(skip, c.Number(type, 0), factor);
  if (factor != kNone) loss = c.Mul(loss, factor);
  if (has_ignored) loss = c.Where(skip, c.Number(type, 0), loss);
  if (reduction == "none") return loss;
  std::vector<int64_t> all;
  for (size_t d = 0; d < shape.size(); ++d) all.push_back(static_cast<int64_t>(d));
  if (reduction == "sum") return c.Reduce("ReduceSum", loss, all, false);
  if (factor == kNone) return c.Reduce("ReduceMean", loss, all, false);
  return c.Div(c.Reduce("ReduceSum", loss, all, false), c.Reduce("ReduceSum", factor, all, false));
}

}  // namespace

void ComposeNegativeLogLikelihoodLoss(Composer& c) {
  c.Replace(0, Loss(c, c.In(0), c.In(1), c.In(2)));
}

void ComposeSoftmaxCrossEntropyLoss(Composer& c) {
  const int log_prob = c.Op("LogSoftmax", {c.In(0)}, {{"axis", int64_t{1}}});
  c.Replace(0, Loss(c, log_prob, c.In(1), c.In(2)));
  c.Replace(1, log_prob);
}

}  // namespace temper::graph
