// Gemm and MatMul. Constants are read in their own order: a schedule packs them.
#include "compiler/ops/op_table.h"
#include "compiler/ops/product_sum.h"

namespace temper::ops {

using tir::Expr;

Status BuildGemm(Emitter& e) {
  const int a = e.Input(0), b = e.Input(1);
  const bool trans_a = e.node().Int("transA", 0) != 0, trans_b = e.node().Int("transB", 0) != 0;
  const double alpha = e.node().Float("alpha", 1), beta = e.node().Float("beta", 1);
  const graph::Shape sa = e.shape(a), sb = e.shape(b), out = e.shape(e.Output(0));
  if (sa.size() != 2 || sb.size() != 2) return e.Refuse("operands that are not matrices");
  const int64_t k = sa[trans_a ? 0 : 1];
  if (sb[trans_b ? 1 : 0] != k) {
    return InvalidArgument(e.node().Describe() + ": matrices " + graph::ShapeToString(sa) +
                           " and " + graph::ShapeToString(sb) + " cannot be multiplied");
  }
  const DType type = e.dtype(a), wide = AccumulatorType(type);
  const bool add = e.HasInput(2) && beta != 0;
  const bool last = add || alpha != 1 || wide != type;
  const int sum = e.AddReduction(
      out, {k}, te::Combiner::kSum, last ? ".sum" : "", [&](const Indices& p, const Indices& r) {
        const Expr x = e.Read(a, trans_a ? Indices{r[0], p[0]} : Indices{p[0], r[0]});
        const Expr y = e.Read(b, trans_b ? Indices{p[1], r[0]} : Indices{r[0], p[1]});
        return As(wide, x) * As(wide, y);
      });
  if (!last) {
    e.Define(e.Output(0), sum);
    return OkStatus();
  }
  e.DefinePoints(0, [&](const Indices& p) {
    Expr v = e.ReadTensor(sum, p);
    if (alpha != 1) v = v * tir::Number(wide, alpha);
    if (add) {
      Expr c = As(wide, e.ReadBroadcast(e.Input(2), p));
      v = v + (beta == 1 ? c : c * tir::Number(wide, beta));
    }
    return As(type, v);
  });
  return OkStatus();
}

// As numpy.matmul: a vector is a matrix of one row or column that the result drops; dimensions
// before the last two broadcast.
Status BuildMatMul(Emitter& e) {
  const int a = e.Input(0), b = e.Input(1);
  const graph::Shape sa = e.shape(a), sb = e.shape(b);
  if (sa.empty() || sb.empty()) return e.Refuse("an operand is a scalar");
  const int64_t k = sa.back();
  if ((sb.size() == 1 ? sb[0] : sb[sb.size() - 2]) != k) {
    return InvalidArgument(e.node().Describe() + ": matrices " + graph::ShapeToString(sa) +
                           " and " + graph::ShapeToString(sb) + " cannot be multiplied");
  }
  const bool rows = sa.size() > 1, columns = sb.size() > 1;
  const DType wide = AccumulatorType(e.dtype(a));
  DefineSum(e, {k}, [&](const Indices& p, const Indices& r) {
    const size_t batch = p.size() - rows - columns;
    auto leading = [&](const graph::Shape& s) {
      Indices indices;
      for (size_t i = 0; i + 2 < s.size(); ++i) {
        indices.push_back(s[i] == 1 ? Expr(0) : p[batch - (s.size() - 2) + i]);
      }
      return indices;
    };
    Indices ia = leading(sa), ib = leading(sb);
    if (rows) ia.push_back(p[batch]);
    ia.push_back(r[0]);
    ib.push_back(r[0]);
    if (columns) ib.push_back(p.back());
    return As(wide, e.Read(a, ia)) * As(wide, e.Read(b, ib));
  });
  return OkStatus();
}

}  // namespace temper::ops
