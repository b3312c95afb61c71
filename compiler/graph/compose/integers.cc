// Products of quantized numbers: exact sums in int32, as the operators' definitions say.
#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// In int32, less the zero point. One of one dimension belongs to `axis`, counted from the back.
int Centred(Composer& c, int x, int zero, int64_t axis_from_back) {
  const int wide = c.Cast(x, DType::kInt32);
  if (zero == kNone || !c.ok()) return wide;
  if (const Tensor* known = c.ConstantValue(zero)) {
    bool all_zero = true;
    for (int64_t i = 0; i < known->size(); ++i) all_zero = all_zero && known->IntAt(i) == 0;
    if (all_zero) return wide;
  }
  Shape shape = c.shape(zero);
  if (shape.size() == 1 && shape[0] != 1) {
    shape.insert(shape.end(), static_cast<size_t>(axis_from_back), 1);
  } else if (*ElementCount(shape) == 1) {
    shape = {};
  }
  return c.Sub(wide, c.Cast(c.Reshape(zero, shape), DType::kInt32));
}

int ByAxis(Composer& c, int x, int64_t from_back) {
  if (!c.ok()) return kNone;
  Shape shape = c.shape(x);
  if (*ElementCount(shape) == 1) return c.Reshape(x, {});
  if (shape.size() == 1) shape.insert(shape.end(), static_cast<size_t>(from_back), 1);
  return c.Reshape(x, shape);
}

// sum * (a * b / y), rounded to the type of the zero point.
int Requantized(Composer& c, int sum, int a_scale, int b_scale, int y_scale, int y_zero) {
  const int factor = c.Cast(c.Div(c.Mul(a_scale, b_scale), y_scale), DType::kFloat32);
  const int x = c.Mul(c.Cast(sum, DType::kFloat32), factor);
  return c.Op("QuantizeLinear", {x, c.Number(DType::kFloat32, 1), y_zero});
}

}  // namespace

void ComposeMatMulInteger(Composer& c) {
  // A row's zero point belongs to the last dimension but one, a column's to the last.
  c.Replace(0, c.MatMul(Centred(c, c.In(0), c.In(2), 1), Centred(c, c.In(1), c.In(3), 0)));
}

void ComposeQLinearMatMul(Composer& c) {
  const int sum = c.MatMul(Centred(c, c.In(0), c.In(2), 1), Centred(c, c.In(3), c.In(5), 0));
  c.Replace(0, Requantized(c, sum, ByAxis(c, c.In(1), 1), ByAxis(c, c.In(4), 0),
                           ByAxis(c, c.In(6), 1), ByAxis(c, c.In(7), 1)));
}

void ComposeConvInteger(Composer& c) {
  const int64_t behind = c.rank(c.In(1)) - 1;
  const int x = Centred(c, c.In(0), c.In(2), 0);
  c.Replace(0, c.Op("Conv", {x, Centred(c, c.In(1), c.In(3), behind)}, c.node().attributes));
}

void ComposeQLinearConv(Composer& c) {
  const int64_t behind = c.rank(c.In(3)) - 1, spatial = c.rank(c.In(3)) - 2;
  const int x = Centred(c, c.In(0), c.In(2), 0);
  std::vector<int> inputs = {x, Centred(c, c.In(3), c.In(5), behind)};
  if (c.Has(8)) inputs.push_back(c.In(8));
  const int sum = c.Op("Conv", inputs, c.node().attributes);
  c.Replace(0, Requantized(c, sum, ByAxis(c, c.In(1), 0), ByAxis(c, c.In(4), spatial),
                           ByAxis(c, c.In(6), 0), ByAxis(c, c.In(7), 0)));
}

}  // namespace temper::graph
