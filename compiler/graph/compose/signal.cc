// Fourier transforms as products with constant matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

// The largest matrix made, in elements.
constexpr int64_t kMaxMatrix = int64_t{1} << 25;

// [n * parts, bins * 2]: what n elements of `parts` (real; or real and imaginary) are multiplied
// by.
int Matrix(Composer& c, DType type, int64_t n, int64_t parts, int64_t bins, bool inverse) {
  if (n * parts > kMaxMatrix / (bins * 2)) {
    c.Refuse(fmt::format("transforms of {} elements are not supported", n));
    return kNone;
  }
  std::vector<double> values;
  values.reserve(static_cast<size_t>(n * parts * bins * 2));
  const double scale = inverse ? 1 / static_cast<double>(n) : 1;
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < bins; ++k) {
        const double turn = static_cast<double>(t * k % n) / static_cast<double>(n);
        const double angle = (inverse ? 2 : -2) * std::numbers::pi * turn;
        const double re = std::cos(angle) * scale, im = std::sin(angle) * scale;
        // i * (re + i im) = -im + i re
        values.push_back(part == 0 ? re : -im);
        values.push_back(part == 0 ? im : re);
      }
    }
  }
  return c.Numbers(type, {n * parts, bins * 2}, values);
}

// [rows, n, parts] to [rows, bins, 2].
int Transform(Composer& c, int x, int64_t bins, bool inverse) {
  if (!c.ok()) return kNone;
  const Shape shape = c.shape(x);
  const int flat = c.Reshape(x, {shape[0], shape[1] * shape[2]});
  const int matrix = Matrix(c, c.dtype(x), shape[1], shape[2], bins, inverse);
  return c.Reshape(c.MatMul(flat, matrix), {shape[0], bins, 2});
}

}  // namespace

void ComposeDft(Composer& c) {
  int x = c.In(0);
  const int64_t rank = c.rank(x);
  int64_t axis = c.node().Int("axis", -2);
  if (const Tensor* stated = c.Constant(2)) axis = stated->IntAt(0);
  axis = c.Axis(axis, rank);
  const bool inverse = c.node().Int("inverse", 0) != 0;
  const int64_t bins = c.OutShape()[axis];
  const int64_t have = c.shape(x)[axis];
  const Tensor* stated = c.Constant(1);
  const int64_t n = stated == nullptr ? have : stated->IntAt(0);
  if (n < have) x = c.Slice(x, axis, 0, n);
  if (n > have) {
    std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
    pads[rank + axis] = n - have;
    x = c.Op("Pad", {x, c.Ints(pads)});
  }
  // The axis goes next to the last one and, transformed, back.
  std::vector<int64_t> to, back(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank - 1; ++d) {
    if (d != axis) to.push_back(d);
  }
  to.insert(to.end(), {axis, rank - 1});
  for (size_t i = 0; i < to.size(); ++i) back[to[i]] = static_cast<int64_t>(i);
  x = c.Transpose(x, to);
  if (!c.ok()) return;
  Shape shape = c.shape(x);
  const int64_t rows = *ElementCount(shape) / (n * shape.back());
  const int y = Transform(c, c.Reshape(x, {rows, n, shape.back()}), bins, inverse);
  shape[rank - 2] = bins;
  shape[rank - 1] = 2;
  c.Replace(0, c.Transpose(c.Reshape(y, shape), back));
}

void ComposeStft(Composer& c) {
  const Shape signal = c.shape(c.In(0)), out = c.OutShape();
  const int64_t step = c.Constant(1)->IntAt(0), frames = out[1], bins = out[2];
  int64_t n = 0;
  if (c.Has(3)) {
    n = c.Constant(3)->IntAt(0);
  } else {
    n = c.shape(c.In(2))[0];
  }
  // What each frame reads is a constant.
  if (frames > (int64_t{1} << 24) / std::max<int64_t>(n, 1)) {
    return c.Refuse("its signal is too long");
  }
  std::vector<int64_t> positions;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t t = 0; t < n; ++t) positions.push_back(f * step + t);
  }
  const int64_t parts = signal.size() == 3 ? signal[2] : 1;
  const int x = c.Reshape(c.In(0), {signal[0], signal[1], parts});
  int framed = c.Gather(x, c.IntsOfShape({frames, n}, positions), 1);
  if (c.Has(2)) framed = c.Mul(framed, c.Reshape(c.In(2), {n, 1}));
  framed = c.Reshape(framed, {signal[0] * frames, n, parts});
  c.Replace(0, c.Reshape(Transform(c, framed, bins, false), out));
}

}  // namespace temper::graph
