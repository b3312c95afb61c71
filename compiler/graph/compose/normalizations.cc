// Normalizations in terms of LayerNormalization, which has a kernel of its own, and of reductions.
#include <fmt/format.h>

#include <numeric>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

DType Wide(DType dtype) { return ByteSize(dtype) < 4 ? DType::kFloat32 : dtype; }

// [c] seen as [c, 1, ...] against a value of `rank` dimensions with its channels in dimension 1.
int ByChannel(Composer& c, int value, int64_t rank) {
  if (!c.ok()) return kNone;
  Shape to = {c.shape(value)[0]};
  to.insert(to.end(), static_cast<size_t>(rank - 2), 1);
  return c.Reshape(value, to);
}

// (x - mean) / sqrt(variance + epsilon) over `groups` equal parts of the channels.
int NormalizeGroups(Composer& c, int x, int64_t groups, float epsilon) {
  const Shape shape = c.shape(x);
  const int64_t count = *ElementCount(shape);
  if (count == 0) return x;
  const Shape rows = {shape[0], groups, count / (shape[0] * groups)};
  const int flat = c.Reshape(x, rows);
  const int one = c.Numbers(c.dtype(x), {1}, {1});
  const int normal =
      c.Op("LayerNormalization", {flat, one}, {{"axis", int64_t{2}}, {"epsilon", epsilon}});
  return c.Reshape(normal, shape);
}

}  // namespace

// Scale and bias by channel; before opset 21 by group.
void ComposeGroupNormalization(Composer& c) {
  const int x = c.In(0);
  const Shape shape = c.shape(x);
  const int64_t groups = c.node().Int("num_groups", 0);
  const int normal = NormalizeGroups(c, x, groups, c.node().Float("epsilon", 1e-5f));
  int scaled = normal;
  for (size_t i = 1; i < 3 && c.ok(); ++i) {
    int by = c.In(i);
    if (c.shape(by)[0] == groups && groups != shape[1]) {
      by = c.Reshape(by, {groups, 1});
      by = c.Reshape(c.Expand(by, {groups, shape[1] / groups}), {shape[1]});
    }
    by = ByChannel(c, by, c.rank(x));
    scaled = i == 1 ? c.Mul(scaled, by) : c.Add(scaled, by);
  }
  c.Replace(0, scaled);
}

void ComposeInstanceNormalization(Composer& c) {
  const int x = c.In(0);
  const int normal = NormalizeGroups(c, x, c.shape(x)[1], c.node().Float("epsilon", 1e-5f));
  const int scaled = c.Mul(normal, ByChannel(c, c.In(1), c.rank(x)));
  c.Replace(0, c.Add(scaled, ByChannel(c, c.In(2), c.rank(x))));
}

// Where the norm is zero the result is, too.
void ComposeLpNormalization(Composer& c) {
  const int x = c.In(0);
  const int64_t axis = c.Axis(c.node().Int("axis", -1), c.rank(x));
  const int64_t p = c.node().Int("p", 2);
  if (p != 1 && p != 2) return c.Refuse(fmt::format("p is {}; it must be 1 or 2", p));
  const int norm = c.Reduce(p == 1 ? "ReduceL1" : "ReduceL2", x, {axis});
  const int zero = c.Op("Equal", {norm, c.NumberLike(norm, 0)});
  c.Replace(0, c.Div(x, c.Where(zero, c.NumberLike(norm, 1), norm)));
}

// (x - mean) / (sqrt(variance) + 1e-9)
void ComposeMeanVarianceNormalization(Composer& c) {
  const int x = c.In(0);
  std::vector<int64_t> axes = c.node().Ints("axes", {0, 2, 3});
  for (int64_t& axis : axes) axis = c.Axis(axis, c.rank(x));
  const int centred = c.Sub(x, c.Reduce("ReduceMean", x, axes));
  const int variance = c.Reduce("ReduceMean", c.Mul(centred, centred), axes);
  const int deviation = c.Op("Sqrt", {variance});
  c.Replace(0, c.Div(centred, c.Add(deviation, c.NumberLike(x, 1e-9))));
}

// x / sqrt(mean(x^2) + epsilon) * scale, the quotient in `stash_type`.
void ComposeRmsNormalization(Composer& c) {
  const DType type = c.dtype(c.In(0));
  const int x = c.Cast(c.In(0), Wide(type));
  const int64_t first = c.Axis(c.node().Int("axis", -1), c.rank(x));
  std::vector<int64_t> axes(static_cast<size_t>(c.rank(x) - first));
  std::iota(axes.begin(), axes.end(), first);
  const int mean = c.Reduce("ReduceMean", c.Mul(x, x), axes);
  const int epsilon = c.NumberLike(x, c.node().Float("epsilon", 1e-5f));
  const int inverse = c.Op("Reciprocal", {c.Op("Sqrt", {c.Add(mean, epsilon)})});
  const int normal = c.Cast(c.Mul(x, inverse), c.dtype(c.In(1)));
  c.Replace(0, c.Cast(c.Mul(normal, c.In(1)), type));
}

// One where the axis has its first largest element, zero elsewhere.
void ComposeHardmax(Composer& c) {
  const int x = c.In(0);
  const int64_t axis = c.Axis(c.node().Int("axis", -1), c.rank(x));
  const int top = c.Op("ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t{1}}});
  Shape along(static_cast<size_t>(c.rank(x)), 1);
  if (!c.ok()) return;
  const int64_t size = c.shape(x)[axis];
  if (size > (int64_t{1} << 24)) return c.Refuse("its axis is too long");
  along[axis] = size;
  std::vector<int64_t> numbers(static_cast<size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  const int hit = c.Op("Equal", {top, c.IntsOfShape(along, numbers)});
  c.Replace(0, c.Cast(hit, c.dtype(x)));
}

}  // namespace temper::graph
