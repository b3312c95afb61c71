#include "costmodel/torn_lines.h"

#include <cmath>

#include "costmodel/per_thread.h"

namespace temper::costmodel {

double TornLines(const StoreView& s, const Target& target, int threads) {
  if (threads <= 1) return 0;
  const PerThread nest(s, threads);
  double lines = 0;
  for (const AccessView& a : s.accesses) {
    if (!a.write || (a.scope != tir::Scope::kParam && a.scope != tir::Scope::kWorkspace)) continue;
    const int shared_out = nest.DimOfRuns(a);
    if (shared_out < 0) continue;
    double rows = 1, row_bytes = a.element_bytes;
    for (int d = 0; d < a.dims; ++d) (d < shared_out ? rows : row_bytes) *= a.shape[d];
    if (std::fmod(row_bytes, target.line_bytes) != 0) lines += rows * (nest.workers - 1);
  }
  return lines;
}

}  // namespace temper::costmodel
