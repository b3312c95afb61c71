// Schedules from a tuning database.
#pragma once

#include <memory>
#include <string>

#include "compiler/driver/schedule_source.h"
#include "db/record_store.h"

namespace temper::tools {

// `store` is borrowed. `name` is for messages.
std::unique_ptr<driver::ScheduleSource> MakeRecordSource(db::RecordStore* store, std::string name);

}  // namespace temper::tools
