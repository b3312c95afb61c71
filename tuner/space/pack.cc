#include "tuner/space/pack.h"

#include <algorithm>

namespace temper::tuner {

bool CanPack(const RuleContext& context, int stage, const Read& read) {
  const te::Tensor& tensor = context.program->tensors[read.tensor];
  if (!tensor.halo_before.empty() || tensor.producer >= 0) return false;
  std::vector<bool> used(context.stage(stage).axis_count(), false);
  for (size_t d = 0; d < read.dims.size(); ++d) {
    int axis = read.dims[d].Identity();
    if (axis < 0) {
      if (!read.dims[d].IsConstant() || tensor.shape[d] != 1) return false;
      continue;
    }
    if (used[axis] || context.extent(stage, axis) != tensor.shape[d]) return false;
    used[axis] = true;
  }
  return true;
}

schedule::Step PackStep(const RuleContext& context, const Read& read,
                        const std::vector<int>& loop_order, const std::vector<int64_t>& block) {
  const te::Tensor& tensor = context.program->tensors[read.tensor];
  schedule::Step step;
  step.kind = schedule::StepKind::kPack;
  step.target = read.tensor;
  auto dim_of = [&](int axis) {
    for (size_t d = 0; d < read.dims.size(); ++d) {
      if (read.dims[d].Identity() == axis) return static_cast<int>(d);
    }
    return -1;
  };
  for (size_t d = 0; d < read.dims.size(); ++d) {
    if (read.dims[d].Identity() < 0) step.dims.push_back({static_cast<int>(d), 1, 1});
  }
  for (int axis : loop_order) {
    int d = dim_of(axis);
    if (d < 0) continue;
    int64_t b = block[axis];
    step.dims.push_back({d, (tensor.shape[d] + b - 1) / b, b});
  }
  for (int axis : loop_order) {
    int d = dim_of(axis);
    if (d >= 0 && block[axis] > 1) step.dims.push_back({d, block[axis], 1});
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
