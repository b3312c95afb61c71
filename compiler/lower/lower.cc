#include "compiler/lower/lower.h"

#include "compiler/lower/emit.h"
#include "compiler/lower/plan.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/steps.h"
#include "compiler/te/alternatives.h"

namespace temper::lower {

std::vector<int> ConstantBuffers(const Lowered& lowered) {
  std::vector<int> constants;
  for (size_t i = 0; i < lowered.arguments.size(); ++i) {
    if (lowered.arguments[i].constant) constants.push_back(lowered.function.params[i]);
  }
  return constants;
}

Result<Lowered> LowerToLoops(const te::Program& program, const schedule::Schedule& schedule,
                             const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(te::Program chosen, te::MakeAlternative(program, schedule.alternative));
  return LowerAlternative(chosen, schedule, target);
}

Result<Lowered> LowerAlternative(const te::Program& chosen, const schedule::Schedule& schedule,
                                 const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(te::Program stepped, schedule::ApplySteps(chosen, schedule.steps));
  TEMPER_RETURN_IF_ERROR(schedule::CheckStages(stepped, schedule));
  TEMPER_ASSIGN_OR_RETURN(Plan plan, MakePlan(stepped, schedule));
  return Emit(std::move(plan), target);
}

Result<Lowered> LowerNest(const te::Program& stepped, const schedule::Schedule& schedule,
                          const Target& target, int root) {
  TEMPER_ASSIGN_OR_RETURN(Plan plan, MakePlan(stepped, schedule, root));
  return Emit(std::move(plan), target);
}

}  // namespace temper::lower
