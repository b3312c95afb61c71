#include "tuner/space/pack.h"

#include <algorithm>

namespace temper::tuner {
namespace {

// A dimension that is coarse * extent(fine) + fine: a reduction's axis and, beside it, one of the
// result. -1 and -1 where it is not.
struct CoarseAndFine {
  int coarse = -1, fine = -1;
};

CoarseAndFine Cut(const RuleContext& context, int stage, const IndexDim& dim, int64_t extent) {
  if (!dim.affine || dim.constant != 0) return {};
  const te::Stage& s = context.stage(stage);
  CoarseAndFine cut;
  for (int a = 0; a < static_cast<int>(dim.coefficients.size()); ++a) {
    if (dim.coefficients[a] == 0) continue;
    int& axis = s.IsReduction(a) ? cut.coarse : cut.fine;
    if (axis >= 0) return {};
    axis = a;
  }
  if (cut.coarse < 0 || cut.fine < 0) return {};
  const int64_t inner = context.extent(stage, cut.fine);
  const bool whole = dim.coefficients[cut.fine] == 1 && dim.coefficients[cut.coarse] == inner &&
                     context.extent(stage, cut.coarse) * inner == extent;
  return whole ? cut : CoarseAndFine{};
}

}  // namespace

bool CanPack(const RuleContext& context, int stage, const Read& read) {
  const te::Tensor& tensor = context.program->tensors[read.tensor];
  if (!tensor.halo_before.empty() || tensor.producer >= 0) return false;
  std::vector<bool> used(context.stage(stage).axis_count(), false);
  for (size_t d = 0; d < read.dims.size(); ++d) {
    int axis = read.dims[d].Identity();
    if (axis < 0) {
      const CoarseAndFine cut = Cut(context, stage, read.dims[d], tensor.shape[d]);
      if (cut.fine >= 0) {
        if (used[cut.coarse] || used[cut.fine]) return false;
        used[cut.coarse] = used[cut.fine] = true;
        continue;
      }
      if (!read.dims[d].IsConstant() || tensor.shape[d] != 1) return false;
      continue;
    }
    if (used[axis] || context.extent(stage, axis) != tensor.shape[d]) return false;
    used[axis] = true;
  }
  return true;
}

schedule::Step PackStep(const RuleContext& context, int stage, const Read& read,
                        const std::vector<int>& loop_order, const std::vector<int64_t>& block) {
  const te::Tensor& tensor = context.program->tensors[read.tensor];
  schedule::Step step;
  step.kind = schedule::StepKind::kPack;
  step.target = read.tensor;
  // Of each axis: its dimension, and the two loops along it.
  struct Use {
    int dim = -1;
    int64_t outer = 1, outer_step = 1, inner = 1;
  };
  std::vector<Use> uses(context.stage(stage).axis_count());
  for (size_t d = 0; d < read.dims.size(); ++d) {
    const int64_t extent = tensor.shape[d];
    const int axis = read.dims[d].Identity();
    if (axis >= 0) {
      const int64_t b = block[axis];
      uses[axis] = {static_cast<int>(d), (extent + b - 1) / b, b, b};
      continue;
    }
    const CoarseAndFine cut = Cut(context, stage, read.dims[d], extent);
    if (cut.fine < 0) {
      step.dims.push_back({static_cast<int>(d), 1, 1});
      continue;
    }
    const int64_t fine = context.extent(stage, cut.fine);
    uses[cut.coarse] = {static_cast<int>(d), extent / fine, fine, 1};
    uses[cut.fine] = {static_cast<int>(d), 1, 0, fine};  // whole, however it is tiled
  }
  for (int axis : loop_order) {
    const Use& use = uses[axis];
    if (use.dim >= 0 && use.outer_step > 0) {
      step.dims.push_back({use.dim, use.outer, use.outer_step});
    }
  }
  for (int axis : loop_order) {
    const Use& use = uses[axis];
    if (use.dim >= 0 && use.inner > 1) step.dims.push_back({use.dim, use.inner, 1});
  }
  return step;
}

void EmitPack(const schedule::Step& step, bool constant, int threads,
              schedule::StageSchedule* out) {
  *out = {};
  if (constant) {
    out->place.kind = schedule::PlaceKind::kConstant;
    out->scope = tir::Scope::kParam;
    return;
  }
  out->scope = tir::Scope::kWorkspace;
  for (size_t d = 0; d < step.dims.size(); ++d) {
    out->groups.push_back({{static_cast<int>(d)}, {}, schedule::Edge::kDivides});
    bool parallel = d == 0 && threads > 1;
    out->order.push_back(
        {static_cast<int>(d), 0, parallel ? schedule::Bind::kParallel : schedule::Bind::kSerial});
  }
}

}  // namespace temper::tuner
