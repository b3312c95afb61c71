#include "costmodel/pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace temper::costmodel {
namespace {

constexpr double kPageBytes = 4096;

bool InMemory(const AccessView& a) {
  return a.scope == tir::Scope::kParam || a.scope == tir::Scope::kWorkspace;
}

}  // namespace

double PagesTouched(const StoreView& s, const AccessView& a, size_t level) {
  std::array<std::pair<double, double>, kMaxLoops> loops;  // bytes of a step, steps
  size_t n = 0;
  for (size_t l = level; l < s.loops.size(); ++l) {
    const double bytes = std::abs(a.stride[l]) * a.element_bytes;
    if (bytes > 0 && s.loops[l].extent > 1) {
      loops[n++] = {bytes, static_cast<double>(s.loops[l].extent)};
    }
  }
  std::sort(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(n));
  double run = a.element_bytes, places = 1;
  for (size_t i = 0; i < n; ++i) {
    const auto [bytes, steps] = loops[i];
    if (bytes < run + kPageBytes) {
      run += bytes * (steps - 1);
    } else {
      places *= steps;
    }
  }
  const double all = std::ceil(a.buffer_bytes / kPageBytes);
  return std::min(std::max(all, 1.0), places * std::ceil(run / kPageBytes));
}

double PagesRevisited(const StoreView& s, double kept) {
  const AccessView& written = s.accesses[0];
  if (!std::all_of(s.accesses.begin(), s.accesses.end(), InMemory)) return 0;
  size_t level = s.loops.size();
  while (level > 0 && PagesTouched(s, written, level - 1) <= kept) --level;
  if (level == 0) return 0;
  double visits = PagesTouched(s, written, level - 1), bodies = 1;
  for (size_t l = 0; l + 1 < level; ++l) visits *= static_cast<double>(s.loops[l].extent);
  for (const LoopView& loop : s.loops) {
    const bool inside = loop.bind == tir::Bind::kUnroll || loop.bind == tir::Bind::kVector;
    if (!inside) bodies *= static_cast<double>(loop.extent);
  }
  return 2 * visits < bodies ? 0 : std::max(0.0, visits - PagesTouched(s, written, 0));
}

}  // namespace temper::costmodel
