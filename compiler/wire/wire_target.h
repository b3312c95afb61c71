// Target <-> proto.Target.
#pragma once

#include "compiler/target/target.h"
#include "proto/target.pb.h"

namespace temper::wire {

proto::Target ToProto(const Target& target);

// A target as ParseTargetText would give it, or INVALID_ARGUMENT: features that are known, a vector
// width that they allow, positive sizes.
Result<Target> FromProto(const proto::Target& message);

}  // namespace temper::wire
