// Random schedules as data: in bounds, but made for no program. For tests of what carries them.
#pragma once

#include "base/rng.h"
#include "compiler/schedule/schedule.h"

namespace temper::testing {

schedule::Schedule RandomSchedule(Rng& rng);

}  // namespace temper::testing
