#include "compiler/graph/compose/functions.h"

namespace temper::graph {

void ComposeCastLike(Composer& c) {
  // Also where the type stays: the node's own result must not be an input of the graph.
  const std::string to(Name(c.dtype(c.In(1))));
  c.Replace(0, c.Op("Cast", {c.In(0)}, {{"to", to}}));
}

void ComposeBoolReduction(Composer& c) {
  std::vector<int> inputs = c.node().inputs;
  inputs[0] = c.Cast(inputs[0], DType::kUInt8);
  const int reduced = c.Op(c.node().op, std::move(inputs), c.node().attributes);
  c.Replace(0, c.Cast(reduced, DType::kBool));
}

}  // namespace temper::graph
