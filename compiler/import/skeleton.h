// First reading of an ONNX file: a walk over protobuf's wire format that checks its structure and
// copies everything but weights.
//
// The walk follows the messages that onnx.proto describes, with bounded depth and a bounded number
// of fields (a few bytes of wire can become hundreds in memory), and drops fields that it does not
// know. A tensor's raw_data, and float_data where it is packed, become their position in the file:
// what is left, the skeleton, is small and is parsed by protobuf, and weights stay in the mapping.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"

namespace temper::importer {

struct SkeletonLimits {
  int depth = 100;                  // of messages in messages, as protobuf's own limit is
  size_t fields = size_t{1} << 22;  // in the whole file
  size_t bytes = size_t{1} << 30;   // of the skeleton
};

// The skeleton of a ModelProto, serialized. An error says at which byte the file goes wrong.
Result<std::string> MakeSkeleton(std::span<const std::byte> file,
                                 const SkeletonLimits& limits = {});

}  // namespace temper::importer
