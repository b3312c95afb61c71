// AffineGrid, CenterCropPad and GlobalLpPool.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {

// Positions of the output's pixels, in [-1, 1], times the matrices.
void ComposeAffineGrid(Composer& c) {
  const Shape out = c.OutShape();
  const bool align = c.node().Int("align_corners", 0) != 0;
  const size_t dims = out.size() - 2;
  const int64_t pixels = *ElementCount(Shape(out.begin() + 1, out.end() - 1));
  if (pixels > (int64_t{1} << 22)) return c.Refuse("its grid is too large");
  std::vector<double> base;
  for (int64_t p = 0; p < pixels; ++p) {
    // x, the innermost dimension, comes first; 1 comes last.
    int64_t rest = p;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t size = out[dims - d];
      const auto at = static_cast<double>(rest % size), count = static_cast<double>(size);
      rest /= size;
      if (align) {
        base.push_back(size == 1 ? 0 : at * 2 / (count - 1) - 1);
      } else {
        base.push_back((2 * at + 1) / count - 1);
      }
    }
    base.push_back(1);
  }
  const int theta = c.In(0);
  const int grid = c.Numbers(c.dtype(theta), {pixels, static_cast<int64_t>(dims) + 1}, base);
  c.Replace(0, c.Reshape(c.MatMul(grid, c.Transpose(theta, {0, 2, 1})), out));
}

void ComposeCenterCropPad(Composer& c) {
  int x = c.In(0);
  const Shape in = c.shape(x), out = c.OutShape();
  std::vector<int64_t> pads(2 * in.size(), 0);
  for (size_t d = 0; d < in.size(); ++d) {
    if (out[d] < in[d]) {
      const int64_t start = (in[d] - out[d]) / 2;
      x = c.Slice(x, static_cast<int64_t>(d), start, start + out[d]);
    } else {
      pads[d] = (out[d] - in[d]) / 2;
      pads[in.size() + d] = out[d] - in[d] - pads[d];
    }
  }
  c.Replace(0, c.Op("Pad", {x, c.Ints(pads)}));
}

void ComposeGlobalLpPool(Composer& c) {
  const int x = c.In(0);
  const int64_t p = c.node().Int("p", 2);
  std::vector<int64_t> axes(static_cast<size_t>(c.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  if (p == 1 || p == 2) return c.Replace(0, c.Reduce(p == 1 ? "ReduceL1" : "ReduceL2", x, axes));
  const auto power = static_cast<double>(p);
  const int raised = c.Op("Pow", {c.Op("Abs", {x}), c.NumberLike(x, power)});
  c.Replace(0, c.Op("Pow", {c.Reduce("ReduceSum", raised, axes), c.NumberLike(x, 1 / power)}));
}

}  // namespace temper::graph
