#include <fmt/format.h>

#include "compiler/graph/infer/functions.h"

namespace temper::graph {

Result<Shape> MatMulShape(const InferContext& c, Shape a, Shape b) {
  const auto failed = [&, left = a, right = b] {
    return c.Error(fmt::format("shapes {} and {} cannot be multiplied", ShapeToString(left),
                               ShapeToString(right)));
  };
  if (a.empty() || b.empty()) return failed();
  // A vector counts as a row on the left and as a column on the right; that dimension then goes.
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::optional<Shape> batch =
      Broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!batch || a.back() != b[b.size() - 2]) return failed();
  Shape out = *batch;
  if (!row) out.push_back(a[a.size() - 2]);
  if (!column) out.push_back(b.back());
  return out;
}

Status InferMatMul(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 1, 65));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 1, 65));
  TEMPER_ASSIGN_OR_RETURN(Shape out, MatMulShape(c, c.shape(0), c.shape(1)));
  return c.Set(0, c.dtype(0), std::move(out));
}

Status InferGemm(InferContext& c) {
  TEMPER_RETURN_IF_ERROR(c.SameDType(0, 1));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(0, 2, 2));
  TEMPER_RETURN_IF_ERROR(c.CheckRank(1, 2, 2));
  const bool trans_a = c.node().Int("transA", 0) != 0;
  const bool trans_b = c.node().Int("transB", 0) != 0;
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  if (a[trans_a ? 0 : 1] != b[trans_b ? 1 : 0]) {
    return c.Error(
        fmt::format("shapes {} and {} cannot be multiplied", ShapeToString(a), ShapeToString(b)));
  }
  Shape out = {a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]};
  if (c.Has(2)) {
    TEMPER_RETURN_IF_ERROR(c.SameDType(0, 2));
    if (Broadcast(out, c.shape(2)) != out) {
      return c.Error(fmt::format("C {} does not broadcast to {}", ShapeToString(c.shape(2)),
                                 ShapeToString(out)));
    }
  }
  return c.Set(0, c.dtype(0), std::move(out));
}

}  // namespace temper::graph
