// The text form of a schedule: one line, for logs, records and editing by hand.
//
//   temper-schedule 1 workload=<hash> alternative=0 threads=1
//   pack t1 (a1 e2 s32)(a0 e64)(a1 e32);
//   stage 0 constant;
//   stage 1 at 2.4 register groups [0:14][1:2,16][2][3:4] order 0.0 2.0 ...;
#pragma once

#include <string>

#include "compiler/schedule/schedule.h"

namespace temper::schedule {

std::string ToText(const Schedule& schedule);

// INVALID_ARGUMENT names the character position. ParseText(ToText(s)) == s.
Result<Schedule> ParseText(const std::string& text);

}  // namespace temper::schedule
