#include "tuner/search/evaluate.h"

#include "compiler/lower/lower.h"

namespace temper::tuner {
namespace {

costmodel::ProgramFeatures Features(const lower::Lowered& lowered, const Target& target,
                                    int threads, Constants constants) {
  return costmodel::ExtractFeatures(lowered.function, target, threads,
                                    lower::ConstantBuffers(lowered), constants);
}

}  // namespace

Result<costmodel::ProgramFeatures> Describe(const te::Program& program,
                                            const schedule::Schedule& schedule,
                                            const Target& target, Constants constants) {
  TEMPER_ASSIGN_OR_RETURN(lower::Lowered lowered, lower::LowerToLoops(program, schedule, target));
  return Features(lowered, target, schedule.threads, constants);
}

Result<costmodel::ProgramFeatures> Describe(const Space& space,
                                            const schedule::Schedule& schedule) {
  if (schedule.alternative != space.alternative()) {
    return Describe(space.program(), schedule, space.target(), space.constants());
  }
  TEMPER_ASSIGN_OR_RETURN(
      lower::Lowered lowered,
      lower::LowerAlternative(space.alternative_program(), schedule, space.target()));
  return Features(lowered, space.target(), schedule.threads, space.constants());
}

}  // namespace temper::tuner
