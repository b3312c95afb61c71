// Schedules from a tuning database.
#pragma once

#include <memory>
#include <string>

#include "compiler/driver/schedule_source.h"
#include "compiler/te/alternatives.h"
#include "db/record_store.h"

namespace temper::tools {

// Records that `numerics` allows. `store` is borrowed. `name` is for messages.
std::unique_ptr<driver::ScheduleSource> MakeRecordSource(
    db::RecordStore* store, std::string name, te::Numerics numerics = te::kDefaultNumerics);

}  // namespace temper::tools
