// Where the compiler finds schedules that were measured: a database, a server, or nothing.
#pragma once

#include <string>
#include <vector>

#include "base/constants.h"
#include "base/hash.h"
#include "base/status.h"
#include "compiler/target/target.h"

namespace temper::driver {

// One schedule that worked, in text form (schedule/text.h), not yet checked by anyone.
struct FoundSchedule {
  bool exact = false;  // measured on a target of the same fingerprint; else of a similar one
  std::string schedule;
  double us = 0;  // its measured time there
};

class ScheduleSource {
 public:
  virtual ~ScheduleSource() = default;

  // What to try for a workload, best first: those measured on `target` by time, then those of
  // other targets of its micro-architecture; of each, those timed with constants as they are in the
  // model before others, whose times are not like them. Few: at most ten of each. None is no error.
  virtual Result<std::vector<FoundSchedule>> Find(const Hash& workload, const Target& target,
                                                  int threads, Constants constants) = 0;

  // For messages: "tuning.db", "127.0.0.1:7400".
  virtual std::string Name() const = 0;
};

}  // namespace temper::driver
