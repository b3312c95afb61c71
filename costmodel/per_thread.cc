#include "costmodel/per_thread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace temper::costmodel {

bool Crowded(const StoreView& s, const AccessView& a, size_t level, const Target& target,
             int vector) {
  if (InRegisters(a)) return false;
  const double ways = static_cast<double>(target.l1_bytes) / kL1WayBytes;
  if (a.footprint[level].lines <= ways) return false;
  // Runs of neighbours, and how far apart they are: loops by their strides.
  std::array<std::pair<double, double>, kMaxLoops> loops;  // bytes of a step, steps
  size_t n = 0;
  for (size_t l = level; l < s.loops.size(); ++l) {
    const double bytes = std::abs(a.stride[l]) * a.element_bytes;
    if (bytes == 0 || s.loops[l].extent <= 1 || static_cast<int>(l) == vector) continue;
    loops[n++] = {bytes, static_cast<double>(s.loops[l].extent)};
  }
  std::sort(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(n));
  const auto line = static_cast<double>(target.line_bytes);
  double run =
      vector < 0 ? a.element_bytes : static_cast<double>(s.loops[vector].extent) * a.element_bytes;
  double places = 1;
  int64_t apart = kL1WayBytes;
  for (size_t i = 0; i < n; ++i) {
    const auto [bytes, steps] = loops[i];
    if (bytes <= std::max(run, line)) {
      run += bytes * (steps - 1);
    } else {
      if (bytes != std::floor(bytes)) return false;
      apart = std::gcd(static_cast<int64_t>(bytes), apart);
      places *= steps;
    }
  }
  const double lines_of_run = std::ceil(run / line);
  const double sets_of_way = kL1WayBytes / line;
  const double sets = std::min(places, static_cast<double>(kL1WayBytes / apart)) *
                      std::min(lines_of_run, std::max(1.0, static_cast<double>(apart) / line));
  const double lines = std::min(places * lines_of_run, a.footprint[level].lines);
  return lines > ways * std::min(sets, sets_of_way);
}

PerThread::PerThread(const StoreView& store, int threads) : s(store) {
  double parallel = 1;
  while (first < s.loops.size() && s.loops[first].bind != tir::Bind::kParallel) ++first;
  for (last = first; last < s.loops.size() && s.loops[last].bind == tir::Bind::kParallel; ++last) {
    parallel *= static_cast<double>(s.loops[last].extent);
  }
  if (parallel > 1 && threads > 1) {
    workers = parallel / std::ceil(parallel / threads);
  } else {
    first = last = 0;
  }
}

double PerThread::Lines(const AccessView& a, size_t level) const {
  if (InRegisters(a)) return 0;
  const double lines = a.footprint[level].lines;
  return level >= last ? lines : std::max(a.footprint[last].lines, lines * Share(a));
}

// Parallel loops were fused to one, whose quotients and remainders the indices are. The slowest of
// them goes over its dimension once and is shared out; one that starts anew with each step of a
// slower one goes over its dimension several times, and a thread may have all of it.
double PerThread::Share(const AccessView& a) const {
  double share = 1;
  for (size_t l = first; l < last; ++l) {
    for (int d = 0; d < a.dims; ++d) {
      const double times = Times(a, d, l);
      if (times > 0) share *= std::min(1.0, times / workers);
    }
  }
  return std::max(share, 1 / workers);
}

// How often a loop goes over a dimension.
double PerThread::Times(const AccessView& a, int dim, size_t loop) const {
  if (a.shape[dim] <= 1) return 0;
  return std::abs(a.step[dim][loop]) * static_cast<double>(s.loops[loop].extent) / a.shape[dim];
}

double PerThread::Bytes(size_t level, const Target& target) const {
  double bytes = 0;
  for (const AccessView& a : s.accesses) bytes += Lines(a, level) * target.line_bytes;
  return bytes;
}

size_t PerThread::Fitting(double capacity, const Target& target, size_t body) const {
  size_t level = s.loops.size();
  while (level > 0 && Bytes(Around(level), target) <= capacity &&
         !(Around(level) < body && AnyCrowded(Around(level), target))) {
    level = Around(level);
  }
  return level;
}

bool PerThread::AnyCrowded(size_t level, const Target& target) const {
  return std::any_of(s.accesses.begin(), s.accesses.end(),
                     [&](const AccessView& a) { return Crowded(s, a, level, target); });
}

double PerThread::Moved(const AccessView& a, size_t level) const {
  if (level == 0) return Lines(a, 0) * workers;
  level = Around(level);
  double times = level < last ? workers : 1;
  for (size_t l = 0; l < level; ++l) times *= static_cast<double>(s.loops[l].extent);
  return Lines(a, level) * times;
}

int PerThread::DimOfRuns(const AccessView& a) const {
  constexpr double kLeast = 0.75, kMost = 1.5;  // halos are left out, last tiles reach beyond
  for (size_t l = first; l < last; ++l) {
    if (s.loops[l].extent <= 1) continue;
    int slowest = -1;
    double least = kMost;
    for (int d = 0; d < a.dims; ++d) {
      const double times = Times(a, d, l);
      if (times == 0 || times >= least) continue;
      slowest = d;
      least = times;
    }
    return least >= kLeast ? slowest : -1;
  }
  return -1;
}

}  // namespace temper::costmodel
