#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/schedule/steps.h"

namespace temper::lower {

using schedule::Bind;
using schedule::Edge;
using schedule::Group;
using schedule::StageSchedule;

namespace {

// One sum after the other along so many elements is off by more than a kernel may be.
constexpr int64_t kLongSum = 4096;
constexpr int kParts = 64;
constexpr int64_t kMostPartial = 1 << 20;  // results of a matrix product would take too much memory

// Long sums of floating-point numbers as sums of partial sums; the last stage first, so that the
// numbers of the others stay.
std::vector<schedule::Step> SplitLongSums(const te::Program& program) {
  std::vector<schedule::Step> steps;
  for (int s = static_cast<int>(program.stages.size()) - 1; s >= 0; --s) {
    const te::Stage& stage = program.stages[s];
    if (stage.combiner != te::Combiner::kSum) continue;
    if (!IsFloat(program.tensors[stage.tensor].dtype)) continue;
    int64_t partial = kParts;
    for (const te::Axis& axis : stage.spatial) {
      partial = partial > kMostPartial ? partial : partial * axis.extent;
    }
    if (partial > kMostPartial) continue;
    for (int a = static_cast<int>(stage.spatial.size()); a < stage.axis_count(); ++a) {
      if (stage.axis(a).extent < kLongSum) continue;
      schedule::Step step;
      step.kind = schedule::StepKind::kSplitReduction;
      step.target = s;
      step.axis = a;
      step.parts = kParts;
      steps.push_back(step);
      break;
    }
  }
  return steps;
}

}  // namespace

schedule::Schedule ReferenceSchedule(const te::Program& original, const Target& target) {
  schedule::Schedule result;
  te::Program program = original;
  if (std::vector<schedule::Step> steps = SplitLongSums(original); !steps.empty()) {
    if (auto stepped = schedule::ApplySteps(original, steps); stepped.ok()) {
      program = *std::move(stepped);
      result.steps = std::move(steps);
    }
  }
  for (const te::Stage& stage : program.stages) {
    StageSchedule ss;
    bool output = std::find(program.outputs.begin(), program.outputs.end(), stage.tensor) !=
                  program.outputs.end();
    ss.scope = output ? tir::Scope::kParam : tir::Scope::kWorkspace;
    int lanes = target.Lanes(std::max(4, ByteSize(program.tensors[stage.tensor].dtype)));
    auto spatial = static_cast<int>(stage.spatial.size());
    bool vector = spatial > 0 && stage.spatial.back().extent >= lanes && lanes > 1;
    for (int a = 0; a < stage.axis_count(); ++a) {
      Group g{{a}, {}, Edge::kDivides};
      if (vector && a == spatial - 1) g = {{a}, {lanes}, Edge::kMask};
      ss.groups.push_back(std::move(g));
      ss.order.push_back({a, 0, Bind::kSerial});
    }
    if (vector) ss.order.push_back({spatial - 1, 1, Bind::kVector});
    result.stages.push_back(std::move(ss));
  }
  return result;
}

}  // namespace temper::lower
