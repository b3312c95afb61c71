// Windows and mel filters: constants that follow from a few numbers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/graph/eval/context.h"

namespace temper::graph {

Result<bool> EvalWindow(EvalContext& c) {
  const std::string& op = c.node.op;
  const int64_t size = c.OutShape()[0];
  const bool periodic = c.node.Int("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::byte* out = c.Make();
  for (int64_t i = 0; i < size; ++i, out += ByteSize(c.OutDType())) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    double value = 0.5 - 0.5 * std::cos(turn);
    if (op == "HammingWindow") value = 25.0 / 46 - 21.0 / 46 * std::cos(turn);
    if (op == "BlackmanWindow") {
      value = 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
    }
    StoreDouble(c.OutDType(), value, out);
  }
  return true;
}

// Triangles whose corners are evenly spaced in mel, rounded down to bins of the spectrum.
Result<bool> EvalMelWeightMatrix(EvalContext& c) {
  const Shape shape = c.OutShape();
  const int64_t mel_bins = shape[1];
  const auto length = static_cast<double>(c.in[1]->IntAt(0));
  const auto rate = static_cast<double>(c.in[2]->IntAt(0));
  const auto to_mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double low = to_mel(c.in[3]->DoubleAt(0));
  const double step = (to_mel(c.in[4]->DoubleAt(0)) - low) / static_cast<double>(mel_bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < mel_bins + 2; ++i) {
    const double mel = low + static_cast<double>(i) * step;
    const double f = 700 * (std::pow(10, mel / 2595) - 1);
    const double bin = std::floor((length + 1) * f / rate);
    if (!(bin >= 0 && bin < static_cast<double>(shape[0]))) return false;
    corners.push_back(static_cast<int64_t>(bin));
  }
  const DType dtype = c.OutDType();
  std::byte* out = c.Make();
  const auto put = [&](int64_t row, int64_t column, double value) {
    StoreDouble(dtype, value, out + (row * mel_bins + column) * ByteSize(dtype));
  };
  for (int64_t m = 0; m < mel_bins; ++m) {
    const int64_t left = corners[m], centre = corners[m + 1], right = corners[m + 2];
    if (left == centre) put(centre, m, 1);
    for (int64_t j = left; j <= centre && left < centre; ++j) {
      put(j, m, static_cast<double>(j - left) / static_cast<double>(centre - left));
    }
    for (int64_t j = centre; j < right; ++j) {
      put(j, m, static_cast<double>(right - j) / static_cast<double>(right - centre));
    }
  }
  return true;
}

}  // namespace temper::graph
