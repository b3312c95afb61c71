// The text form of a schedule: one line, for logs, records and editing by hand.
//
//   temper-schedule 1 workload=<hash> alternative=0 threads=1;
//   pack t1 (a1 e2 s32) (a0 e64) (a1 e32);
//   write-cache s0;
//   stage 0 constant param;
//   stage 1 at 2.4 register groups [0/14 clip] [1,2/4,16] [3] order 0.0 1.0 2.0 1.1 0.1u 1.2v
//       prefetch t2 loop 3 ahead 16;
//
// Everything after the header's first two words is items, each ended by a semicolon; white space
// of any kind and amount separates words.
//   pack tT (aAXIS eEXTENT sSTEP)...   a step; s1 is left out
//   write-cache sS                     a step
//   split-reduction sS aAXIS into P    a step
//   stage N PLACE SCOPE ...            stages come in order; PLACE is root, inline, constant or
//                                      at STAGE.LOOP, SCOPE param, workspace, stack or register
//   [AXES/FACTORS EDGE]                a group; no /FACTORS if there are none; EDGE is clip or mask
//   GROUP.LEVELx                       a loop; x is p parallel, v vector, u unroll, nothing serial
//   prefetch tT loop L ahead D
#pragma once

#include <string>

#include "compiler/schedule/schedule.h"

namespace temper::schedule {

// One line, without a line end.
std::string ToText(const Schedule& schedule);

// INVALID_ARGUMENT names the character position. ParseText(ToText(s)) == s for every s that
// CheckBounds accepts and whose places have a stage and a loop only where their kind is kAt.
Result<Schedule> ParseText(const std::string& text);

}  // namespace temper::schedule
