// What the database knows already when a job's search starts.
#pragma once

#include <vector>

#include "db/record_store.h"
#include "tuner/server/job.h"

namespace temper::tuner {

// What is known of the job's own workloads on its target, timed with constants where the job's
// tasks have them, as far as the schedules can still be read.
Result<std::vector<Measured>> KnownResults(const Job& job, db::RecordStore& store);

// What is known of other workloads, and of its own with their constants elsewhere, on the job's
// micro-architecture, measured here or imported: of a bounded number of them, those of the families
// of the job's own and of a similar size first, some results of each from the fastest to the
// slowest. Other threads' results count for nothing.
Result<std::vector<KnownTask>> KnownOthers(const Job& job, db::RecordStore& store);

}  // namespace temper::tuner
