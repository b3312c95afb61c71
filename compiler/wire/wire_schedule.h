// schedule::Schedule <-> proto.Schedule.
#pragma once

#include "compiler/schedule/schedule.h"
#include "proto/schedule.pb.h"

namespace temper::wire {

// REQUIRES: schedule::CheckBounds accepts it.
proto::Schedule ToProto(const schedule::Schedule& schedule);

// A schedule that CheckBounds accepts, or INVALID_ARGUMENT. Whether it is legal for a program is
// CheckLegal's part. FromProto(ToProto(s)) == s where places have a stage and a loop only if their
// kind is kAt.
Result<schedule::Schedule> FromProto(const proto::Schedule& message);

}  // namespace temper::wire
