// Einsum: a product of elements, summed over the labels that the result does not have.
#include "compiler/graph/infer/einsum.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/ops/product_sum.h"

namespace temper::ops {

using tir::Expr;

Status BuildEinsum(Emitter& e) {
  std::vector<graph::Shape> shapes;
  for (int input : e.node().inputs) shapes.push_back(e.shape(input));
  auto parsed = graph::ParseEinsum(e.node().String("equation", ""), shapes);
  if (!parsed.ok()) return e.Refuse(std::string(parsed.status().message()));
  const graph::EinsumPlan plan = *std::move(parsed);
  const DType type = e.dtype(e.Input(0)), wide = AccumulatorType(type);
  if (type == DType::kBool) return e.Refuse("bool operands are not supported");
  graph::Shape out, reduced;
  std::vector<int> summed;
  for (int label : plan.output) out.push_back(plan.extent[label]);
  for (size_t label = 0; label < plan.extent.size(); ++label) {
    const int l = static_cast<int>(label);
    if (std::count(plan.output.begin(), plan.output.end(), l) != 0 || plan.extent[l] == 1) continue;
    if (plan.extent[l] == 0) return e.Refuse("it sums over no elements");
    summed.push_back(l);
    reduced.push_back(plan.extent[l]);
  }
  auto product = [&](const Indices& p, const Indices& r) {
    std::vector<Expr> at(plan.extent.size(), Expr(0));
    for (size_t d = 0; d < plan.output.size(); ++d) at[plan.output[d]] = p[d];
    for (size_t d = 0; d < summed.size(); ++d) at[summed[d]] = r[d];
    Expr all;
    for (size_t i = 0; i < plan.operands.size(); ++i) {
      Indices indices;
      for (size_t d = 0; d < shapes[i].size(); ++d) {
        indices.push_back(shapes[i][d] == 1 ? Expr(0) : at[plan.operands[i][d]]);
      }
      const Expr x = As(wide, e.Read(e.Input(i), indices));
      all = all ? all * x : x;
    }
    return all;
  };
  if (reduced.empty()) {
    e.DefinePoints(0, [&](const Indices& p) { return As(type, product(p, {})); });
    return OkStatus();
  }
  DefineSum(e, reduced, product);
  return OkStatus();
}

}  // namespace temper::ops
