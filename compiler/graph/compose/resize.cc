// Resize, one dimension after the other: each output position is a weighted sum of a few input
// positions, all known here.
#include "compiler/graph/infer/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {
namespace {

struct Taps {
  std::vector<int64_t> positions;  // [out, count]
  std::vector<double> weights;     // the same
  std::vector<double> outside;     // [out]: 1 where the extrapolation value is the result
  int64_t count = 1;
};

struct Options {
  std::string mode, transform, rounding;
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

// The input coordinate of output position `x`.
double Coordinate(const ResizeAxis& a, const std::string& transform, int64_t x) {
  const auto at = static_cast<double>(x), in = static_cast<double>(a.in);
  // Of the output before it was rounded down.
  const double out = in * a.scale_up / a.scale_down;
  if (transform == "align_corners") return out == 1 ? 0 : at * (in - 1) / (out - 1);
  if (transform == "asymmetric") return at * a.scale_down / a.scale_up;
  if (transform == "tf_crop_and_resize") {
    const double extent = (a.roi_end - a.roi_start) * (in - 1);
    const double count = static_cast<double>(a.out);
    const double moved = a.out == 1 ? extent / 2 : at * extent / (count - 1);
    return moved + a.roi_start * (in - 1);
  }
  // Products first: ratios of integers then stay exact where they can.
  const double half = (at + 0.5) * a.scale_down / a.scale_up - 0.5;
  if (transform == "tf_half_pixel_for_nn") return half + 0.5;
  if (transform == "pytorch_half_pixel") return a.out == 1 ? 0 : half;
  if (transform == "half_pixel_symmetric") {
    return in / 2 * (1 - static_cast<double>(a.out) / out) + half;
  }
  return half;
}

double Cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

int64_t Nearest(double x, const std::string& rounding) {
  if (rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (rounding == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

// How many positions an output's filter reaches to each side: it is widened where it shrinks.
double Reach(const ResizeAxis& a, const Options& o) {
  const double scale = o.antialias ? std::min(1.0, a.Scale()) : 1;
  return std::ceil((o.mode == "cubic" ? 2 : 1) / scale);
}

// Where a region of interest lies beyond what an integer holds, one far outside does.
double Near(double x) {
  constexpr double kFar = 0x1p52;
  return std::abs(x) < kFar ? x : x > 0 ? kFar : -kFar;
}

// REQUIRES: Reach(a, o) times the outputs is a number of elements that fits the memory.
Taps TapsOf(const ResizeAxis& a, const Options& o) {
  Taps taps;
  const bool cubic = o.mode == "cubic";
  const double scale = o.antialias ? std::min(1.0, a.Scale()) : 1;
  const auto reach = static_cast<int64_t>(Reach(a, o));
  if (o.mode != "nearest") taps.count = 2 * reach;
  for (int64_t i = 0; i < a.out; ++i) {
    const double x = Near(Coordinate(a, o.transform, i));
    taps.outside.push_back(o.transform == "tf_crop_and_resize" &&
                           (x < 0 || x > static_cast<double>(a.in - 1)));
    const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at, 0, a.in - 1); };
    if (o.mode == "nearest") {
      taps.positions.push_back(clamped(Nearest(x, o.rounding)));
      taps.weights.push_back(1);
      continue;
    }
    const double base = std::floor(x);
    double sum = 0;
    const size_t first = taps.weights.size();
    for (int64_t k = 1 - reach; k <= reach; ++k) {
      const int64_t at = static_cast<int64_t>(base) + k;
      const double distance = (static_cast<double>(k) - (x - base)) * scale;
      double w = cubic ? Cubic(distance, o.cubic_a) : std::max(0.0, 1 - std::abs(distance));
      if (o.exclude_outside && (at < 0 || at >= a.in)) w = 0;
      sum += w;
      taps.positions.push_back(clamped(at));
      taps.weights.push_back(w);
    }
    if (!o.exclude_outside && !o.antialias) continue;
    for (size_t k = first; k < taps.weights.size(); ++k) taps.weights[k] /= sum;
  }
  return taps;
}

// Shape of a constant of one number an output position of dimension `axis`.
Shape Along(int64_t rank, int64_t axis, int64_t size) {
  Shape shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = size;
  return shape;
}

int Nearest(Composer& c, int x, int64_t axis, const ResizeAxis& a, const Taps& taps) {
  bool same = a.in == a.out;
  for (int64_t i = 0; i < a.out; ++i) same = same && taps.positions[i] == i;
  return same ? x : c.Gather(x, c.Ints(taps.positions), axis);
}

int Weighted(Composer& c, int x, int64_t axis, const ResizeAxis& a, const Taps& taps) {
  const int64_t rank = c.rank(x);
  const DType type = c.dtype(x);
  if (taps.count > 8) {
    // Many taps: a product with a matrix.
    std::vector<double> matrix(static_cast<size_t>(a.in * a.out), 0);
    for (int64_t i = 0; i < a.out; ++i) {
      for (int64_t k = 0; k < taps.count; ++k) {
        matrix[taps.positions[i * taps.count + k] * a.out + i] += taps.weights[i * taps.count + k];
      }
    }
    std::vector<int64_t> perm;
    for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
    std::swap(perm[axis], perm[rank - 1]);
    const int y = c.MatMul(c.Transpose(x, perm), c.Numbers(type, {a.in, a.out}, matrix));
    return c.Transpose(y, perm);
  }
  int sum = kNone;
  for (int64_t k = 0; k < taps.count; ++k) {
    std::vector<int64_t> positions;
    std::vector<double> weights;
    bool any = false;
    for (int64_t i = 0; i < a.out; ++i) {
      positions.push_back(taps.positions[i * taps.count + k]);
      weights.push_back(taps.weights[i * taps.count + k]);
      any = any || weights.back() != 0;
    }
    if (!any) continue;
    const int factor = c.Numbers(type, Along(rank, axis, a.out), weights);
    const int term = c.Mul(c.Gather(x, c.Ints(positions), axis), factor);
    sum = sum == kNone ? term : c.Add(sum, term);
  }
  return sum;
}

// What weighted sums are computed in.
DType WorkType(DType type) {
  if (IsInt(type)) return DType::kFloat64;
  return ByteSize(type) < 4 ? DType::kFloat32 : type;
}

// A cast to integers drops the fraction, as ONNX's reference does. What rounding left just below an
// integer is that integer: a resized area of one colour keeps it.
int Truncatable(Composer& c, int x) {
  constexpr double kUnits = 1 << 20;
  const int units = c.Op("Round", {c.Mul(x, c.NumberLike(x, kUnits))});
  return c.Mul(units, c.NumberLike(x, 1 / kUnits));
}

constexpr int64_t kMaxPositions = 1 << 20;  // of a dimension that is resized
constexpr int64_t kMaxWeights = 1 << 25;    // of a dimension's filters or their matrix

}  // namespace

void ComposeResize(Composer& c) {
  const Node& node = c.node();
  Options o;
  o.mode = node.String("mode", "nearest");
  o.transform = node.String("coordinate_transformation_mode", "half_pixel");
  o.rounding = node.String("nearest_mode", "round_prefer_floor");
  o.cubic_a = node.Float("cubic_coeff_a", -0.75f);
  o.exclude_outside = node.Int("exclude_outside", 0) != 0;
  o.antialias = node.Int("antialias", 0) != 0 && o.mode != "nearest";
  static constexpr const char* kTransforms[] = {
      "half_pixel",           "pytorch_half_pixel", "asymmetric",          "align_corners",
      "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"};
  if (std::find(std::begin(kTransforms), std::end(kTransforms), o.transform) ==
      std::end(kTransforms)) {
    return c.Refuse(fmt::format("coordinate_transformation_mode '{}' is unknown", o.transform));
  }
  if (o.mode != "nearest" && o.mode != "linear" && o.mode != "cubic") {
    return c.Refuse(fmt::format("mode '{}' is unknown", o.mode));
  }
  const DType type = c.dtype(c.In(0));
  if (o.mode != "nearest" && type == DType::kBool) {
    return c.Refuse(fmt::format("mode '{}' on bool is not supported", o.mode));
  }
  const auto axes = c.ResizeAxesOfNode();
  if (!c.ok()) return;
  const DType work = o.mode == "nearest" ? type : WorkType(type);
  int x = c.Cast(c.In(0), work);
  int outside = kNone;
  bool changed = work != type;
  for (size_t d = 0; d < axes.size(); ++d) {
    const ResizeAxis& a = axes[d];
    const bool crop = o.transform == "tf_crop_and_resize";
    if (a.Same() && (!crop || (a.roi_start == 0 && a.roi_end == 1))) continue;
    // What each position reads is a constant.
    if (a.out > kMaxPositions) {
      return c.Refuse(fmt::format("dimension {} of its result, {}, is too large", d, a.out));
    }
    const double reach = o.mode == "nearest" ? 0 : Reach(a, o);
    if (a.out > 0 && reach > 4 &&
        (a.in > kMaxWeights / a.out ||
         !(reach <= static_cast<double>(kMaxWeights) / static_cast<double>(a.out)))) {
      return c.Refuse("it shrinks too large a dimension");
    }
    const Taps taps = TapsOf(a, o);
    const auto axis = static_cast<int64_t>(d);
    x = o.mode == "nearest" ? Nearest(c, x, axis, a, taps) : Weighted(c, x, axis, a, taps);
    changed = changed || x != c.In(0);
    if (!c.ok() || std::count(taps.outside.begin(), taps.outside.end(), 1) == 0) continue;
    const int here = c.Numbers(DType::kBool, Along(c.rank(x), axis, a.out), taps.outside);
    outside = outside == kNone ? here : c.Op("Or", {outside, here});
  }
  if (outside != kNone) {
    x = c.Where(outside, c.NumberLike(x, node.Float("extrapolation_value", 0)), x);
    changed = true;
  }
  if (IsInt(type) && work != type) x = Truncatable(c, x);
  x = c.Cast(x, type);
  c.Replace(0, changed ? x : c.Op("Identity", {x}));
}

}  // namespace temper::graph
