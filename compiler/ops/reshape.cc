// Operators that keep the row-major order of the elements: Reshape, Flatten, Squeeze, Unsqueeze.
#include "compiler/ops/reshape.h"

#include "compiler/ops/op_table.h"

namespace temper::ops {

using tir::Expr;

Indices ReshapeIndices(const graph::Shape& from, const graph::Shape& to, const Indices& point) {
  Indices result(from.size(), Expr(0));
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The next runs of dimensions with the same number of elements.
    const size_t from_begin = i, to_begin = j;
    int64_t a = 1, b = 1;
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (a != b) {
      if (a < b) {
        TEMPER_CHECK(i < from.size());
        a *= from[i++];
      } else {
        TEMPER_CHECK(j < to.size());
        b *= to[j++];
      }
    }
    std::vector<size_t> sources, targets;  // without those of extent 1
    for (size_t d = from_begin; d < i; ++d) {
      if (from[d] != 1) sources.push_back(d);
    }
    for (size_t d = to_begin; d < j; ++d) {
      if (to[d] != 1) targets.push_back(d);
    }
    if (sources.empty()) continue;
    if (sources.size() == 1 && targets.size() == 1) {
      result[sources[0]] = point[targets[0]];
      continue;
    }
    Expr linear(0);
    for (size_t d : targets) linear = linear * Expr(to[d]) + point[d];
    int64_t stride = 1;
    for (size_t n = sources.size(); n-- > 0;) {
      const size_t d = sources[n];
      Expr index = stride == 1 ? linear : tir::FloorDiv(linear, Expr(stride));
      if (n > 0) index = tir::FloorMod(index, Expr(from[d]));
      result[d] = index;
      stride *= from[d];
    }
  }
  return result;
}

Status BuildReshape(Emitter& e) {
  const int x = e.Input(0);
  const graph::Shape from = e.shape(x), to = e.shape(e.Output(0));
  if (graph::ElementCount(from) != graph::ElementCount(to)) {
    return InvalidArgument(e.node().Describe() + ": " + graph::ShapeToString(from) + " and " +
                           graph::ShapeToString(to) + " have different numbers of elements");
  }
  e.DefinePoints(0,
                 [&](const Indices& point) { return e.Read(x, ReshapeIndices(from, to, point)); });
  return OkStatus();
}

}  // namespace temper::ops
