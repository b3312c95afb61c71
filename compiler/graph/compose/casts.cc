#include "compiler/graph/compose/functions.h"

namespace temper::graph {

void ComposeCastLike(Composer& c) {
  // Also where the type stays: the node's own result must not be an input of the graph.
  const std::string to(Name(c.dtype(c.In(1))));
  c.Replace(0, c.Op("Cast", {c.In(0)}, {{"to", to}}));
}

}  // namespace temper::graph
