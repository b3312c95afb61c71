// te::Program <-> proto.Workload.
#pragma once

#include "compiler/te/program.h"
#include "proto/workload.pb.h"

namespace temper::wire {

// The canonical form of the program (te::Canonicalize), names included
// (their first kMaxNameBytes).
// REQUIRES: te::Verify accepts it.
proto::Workload ToProto(const te::Program& program);

// A canonical program that te::Verify accepts, with typed bodies and generated axis names; or
// INVALID_ARGUMENT that names the stage or input. Nothing in the message is trusted.
Result<te::Program> FromProto(const proto::Workload& message);

// Limits of a body: nodes in the list, and nodes of the tree that the list stands for.
inline constexpr int kMaxBodyNodes = 1 << 14;
inline constexpr int64_t kMaxBodyTree = int64_t{1} << 16;
inline constexpr size_t kMaxNameBytes = 256;

}  // namespace temper::wire
