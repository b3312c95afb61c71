#include "compiler/tools/untuned.h"

#include "tuner/search/default_schedule.h"

namespace temper::tools {

driver::ScheduleChooser UntunedChooser() {
  return [](const te::Program& program, const Target& target,
            int threads) -> Result<driver::UntunedSchedule> {
    driver::UntunedSchedule untuned;
    untuned.schedule = tuner::DefaultSchedule(program, target, threads);
    return untuned;
  };
}

}  // namespace temper::tools
