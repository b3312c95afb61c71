// Whether a record from outside says what the compiler can use: db/ does not read schedules.
#pragma once

#include "base/status.h"
#include "db/record.h"

namespace temper::tools {

// OK, or INVALID_ARGUMENT: the schedule's text does not parse, is of another workload, or does not
// have the record's schedule_hash; or the median is no median of the samples.
Status CheckImportedRecord(const db::Record& record);

}  // namespace temper::tools
