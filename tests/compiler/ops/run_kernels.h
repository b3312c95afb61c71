// Runs a partitioned graph slowly: each kernel by the reference schedule, in the interpreter.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "compiler/partition/partition.h"

namespace temper::testing {

using Bytes = std::vector<std::byte>;

// `inputs`: row-major elements by graph value. Gives every value that a kernel computes, without
// its halo. Fails if a kernel leaves something else than zeros in the halo of its output.
Result<std::map<int, Bytes>> RunKernels(const graph::Graph& graph,
                                        const partition::Partition& partition,
                                        const std::map<int, Bytes>& inputs);

}  // namespace temper::testing
