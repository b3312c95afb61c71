// Schedules without records: the search's default, ranked by the analytic prior.
#pragma once

#include "compiler/driver/choose.h"

namespace temper::tools {

driver::ScheduleChooser UntunedChooser();

}  // namespace temper::tools
