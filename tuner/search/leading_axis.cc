#include "tuner/search/leading_axis.h"

#include <cstdint>

#include "compiler/schedule/steps.h"
#include "compiler/tir/expr.h"

namespace temper::tuner {
namespace {

using schedule::StageSchedule;

int64_t Extent(const te::Stage& stage, const schedule::Group& group) {
  int64_t extent = 1;
  for (int axis : group.axes) extent *= stage.axis(axis).extent;
  return extent;
}

int64_t Trips(const te::Stage& stage, const schedule::Group& group) {
  int64_t inner = 1;
  for (int64_t factor : group.factors) inner *= factor;
  return (Extent(stage, group) + inner - 1) / inner;
}

// The group of the outermost parallel loop of more than one trip; -1: none.
int LeadingGroup(const te::Stage& stage, const StageSchedule& s) {
  for (const schedule::LoopRef& loop : s.order) {
    if (loop.bind != schedule::Bind::kParallel) break;
    if (loop.level == 0 && Trips(stage, s.groups[loop.group]) > 1) return loop.group;
  }
  return -1;
}

bool OnlyMoves(const te::Program& program) {
  return program.stages.size() == 1 && program.stages[0].body->kind() == tir::ExprKind::kLoad;
}

}  // namespace

int LeadingAxisRank(const te::Program& program, const schedule::Schedule& schedule) {
  auto stepped = schedule::ApplySteps(program, schedule.steps);
  if (!stepped.ok() || stepped->stages.size() != schedule.stages.size()) return 0;
  int root = -1;
  for (size_t i = 0; i < schedule.stages.size(); ++i) {
    if (schedule.stages[i].place.kind != schedule::PlaceKind::kRoot) continue;
    if (root >= 0) return 0;
    root = static_cast<int>(i);
  }
  if (root < 0) return 0;
  const te::Stage& stage = stepped->stages[root];
  const StageSchedule& s = schedule.stages[root];
  const int leading = LeadingGroup(stage, s);
  if (leading < 0) return 0;
  int rank = 0;
  for (const schedule::Group& group : s.groups) {
    if (OnlyMoves(program)) {
      rank += Extent(stage, group) > Extent(stage, s.groups[leading]) ? 1 : 0;
    } else if (group.axes[0] < s.groups[leading].axes[0]) {
      rank += Extent(stage, group) > 1 ? 1 : 0;
    }
  }
  return rank;
}

}  // namespace temper::tuner
