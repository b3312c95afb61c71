#include "tuner/search/evaluate.h"

#include "compiler/lower/lower.h"

namespace temper::tuner {

Result<costmodel::ProgramFeatures> Describe(const te::Program& program,
                                            const schedule::Schedule& schedule,
                                            const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(lower::Lowered lowered, lower::LowerToLoops(program, schedule, target));
  return costmodel::ExtractFeatures(lowered.function, target, schedule.threads);
}

}  // namespace temper::tuner
