#include "compiler/graph/compose/functions.h"

namespace temper::graph {

void ComposeCastLike(Composer& c) {
  // Also where the type stays: the node's own result must not be an input of the graph.
  const std::string to(Name(c.dtype(c.In(1))));
  c.Replace(0, c.Op("Cast", {c.In(0)}, {{"to", to}}));
}

void ComposeCastReduction(Composer& c) {
  std::vector<int> inputs = c.node().inputs;
  const DType dtype = c.dtype(inputs[0]);
  inputs[0] = c.Cast(inputs[0], dtype == DType::kBool ? DType::kUInt8 : DType::kFloat64);
  const int reduced = c.Op(c.node().op, std::move(inputs), c.node().attributes);
  c.Replace(0, c.Cast(reduced, dtype));
}

}  // namespace temper::graph
