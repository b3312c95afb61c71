// How one nest of the plan becomes knobs, and a choice of them becomes its part of a schedule.
//
// One rule a kind of nest, each in its own file; MakeRules() lists them. A rule sees the original
// program and writes into a schedule of the program with steps applied, through StageNumbers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/analysis.h"
#include "tuner/space/plan.h"
#include "tuner/space/space.h"

namespace temper::tuner {

// What rules share; borrowed by each rule from the space.
struct RuleContext {
  const te::Program* program = nullptr;
  const std::vector<StageInfo>* info = nullptr;
  const Target* target = nullptr;
  int threads = 1;

  const te::Stage& stage(int s) const { return program->stages[s]; }
  int64_t extent(int s, int axis) const { return program->stages[s].axis(axis).extent; }
};

// Where stages of the original program are once steps are applied.
struct StageNumbers {
  std::vector<int> of_stage;  // original stage -> its number
  std::vector<int> added;     // original stage -> so many stages were added right before it
  std::vector<int> packs;     // the n-th pack step -> its stage
  std::vector<int> packed;    // the n-th pack step -> the tensor it makes
};

using KnobValues = std::span<const int64_t>;

class NestRule {
 public:
  virtual ~NestRule() = default;

  virtual std::vector<Knob> Knobs() const = 0;
  // Tensors packed by this nest, one step each; their number does not depend on the values.
  virtual std::vector<schedule::Step> Packs(KnobValues) const { return {}; }
  // Steps that each add a stage right before an original one, in order; a step's target is the
  // original stage's number, and the space puts the right one. Their number and their targets do
  // not depend on the values.
  virtual std::vector<schedule::Step> StageSteps(KnobValues) const { return {}; }
  // Writes the schedules of this nest's stages. `first_pack` is the number of its first pack.
  virtual void Emit(KnobValues values, const StageNumbers& numbers, int first_pack,
                    schedule::Schedule* out) const = 0;
  // Whether its tile fits the registers.
  virtual bool Fits(KnobValues) const { return true; }
  // The inverse of Emit, as far as it can tell; the space checks by emitting again.
  virtual bool Extract(const schedule::Schedule& s, const StageNumbers& numbers, int first_pack,
                       std::vector<int64_t>* values) const = 0;
};

std::unique_ptr<NestRule> MakeTileRule(const RuleContext& context, const Nest& nest);
std::unique_ptr<NestRule> MakeRowRule(const RuleContext& context, const Nest& nest);
std::unique_ptr<NestRule> MakeElementwiseRule(const RuleContext& context, const Nest& nest);
std::unique_ptr<NestRule> MakeTransformRule(const RuleContext& context, const Nest& nest);
std::unique_ptr<NestRule> MakeColumnRule(const RuleContext& context, const Nest& nest);

// One rule a nest of the plan, in its order.
std::vector<std::unique_ptr<NestRule>> MakeRules(const RuleContext& context, const Plan& plan);

}  // namespace temper::tuner
