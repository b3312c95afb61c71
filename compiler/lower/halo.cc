#include "compiler/lower/halo.h"

#include <fmt/format.h>

namespace temper::lower {
namespace {

using tir::Bind;
using tir::Expr;
using tir::Stmt;

// Loops over [lo, hi) of each dimension that store zero; the innermost is in vectors.
Stmt ZeroBox(const tir::Buffer& buffer, int id, const std::vector<int64_t>& lo,
             const std::vector<int64_t>& hi, int lanes, Plan& plan) {
  int rank = static_cast<int>(lo.size());
  std::vector<Expr> index, vars;
  for (int d = 0; d < rank; ++d) {
    if (hi[d] <= lo[d]) return nullptr;
    vars.push_back(plan.NewVar(fmt::format("h{}", d), 0, hi[d] - lo[d] - 1));
    index.push_back(tir::Simplify(vars[d] + tir::Index(lo[d]), plan.bounds));
  }
  int last = rank - 1;
  int64_t extent = hi[last] - lo[last];
  Stmt s;
  if (extent >= lanes && lanes > 1) {
    Expr outer = plan.NewVar("ho", 0, (extent + lanes - 1) / lanes - 1);
    Expr lane = plan.NewVar("hv", 0, lanes - 1);
    Expr offset = outer * tir::Index(lanes) + lane;
    index[last] = offset + tir::Index(lo[last]);
    s = tir::Store(id, index, tir::Number(buffer.dtype, 0));
    if (extent % lanes != 0) s = tir::If(tir::Lt(offset, tir::Index(extent)), s);
    s = tir::For(lane, 0, lanes, Bind::kVector, s);
    s = tir::For(outer, 0, (extent + lanes - 1) / lanes, Bind::kSerial, s);
  } else {
    s = tir::Store(id, index, tir::Number(buffer.dtype, 0));
    s = tir::For(vars[last], 0, extent, Bind::kSerial, s);
  }
  for (int d = last - 1; d >= 0; --d) {
    s = tir::For(vars[d], 0, hi[d] - lo[d], Bind::kSerial, s);
  }
  return s;
}

}  // namespace

Stmt FillHalo(const tir::Buffer& buffer, int id, int lanes, Plan& plan) {
  if (buffer.halo_before.empty()) return nullptr;
  int rank = static_cast<int>(buffer.shape.size());
  std::vector<Stmt> all;
  // Dimension d's border, with the dimensions before it inside and those after it whole: the
  // boxes do not overlap and together are the halo. Beside the last dimension lie other tensors.
  for (int d = 0; d + 1 < rank; ++d) {
    for (bool before : {true, false}) {
      std::vector<int64_t> lo(rank), hi(rank);
      for (int k = 0; k < rank; ++k) {
        const bool inside = k < d || k + 1 == rank;
        lo[k] = inside ? 0 : -buffer.halo_before[k];
        hi[k] = inside ? buffer.shape[k] : buffer.shape[k] + buffer.halo_after[k];
      }
      lo[d] = before ? -buffer.halo_before[d] : buffer.shape[d];
      hi[d] = before ? 0 : buffer.shape[d] + buffer.halo_after[d];
      all.push_back(ZeroBox(buffer, id, lo, hi, lanes, plan));
    }
  }
  return tir::Block(std::move(all));
}

}  // namespace temper::lower
