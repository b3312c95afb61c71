#include "costmodel/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace temper::costmodel {
namespace {

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return values[x] < values[y]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    double mean = (static_cast<double>(i) + static_cast<double>(end) - 1) / 2;
    for (; i < end; ++i) ranks[order[i]] = mean;
  }
  return ranks;
}

}  // namespace

double RankCorrelation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2) return 0;
  std::vector<double> x = Ranks(a), y = Ranks(b);
  double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

}  // namespace temper::costmodel
