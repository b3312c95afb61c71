// Runs a partitioned graph slowly: each kernel lowered and then run by the interpreter.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace temper::testing {

using Bytes = std::vector<std::byte>;

struct RunOptions {
  Target target;
  // The schedule of a canonical program; null: the reference schedule.
  std::function<schedule::Schedule(const te::Program&)> schedule;
  bool finish = false;  // run what code is generated from, not the loops before
};

// `inputs`: row-major elements by graph value. Gives every value that a kernel computes, without
// its halo. Fails if a kernel leaves something else than zeros in the halo of its output.
Result<std::map<int, Bytes>> RunKernels(const graph::Graph& graph,
                                        const partition::Partition& partition,
                                        const std::map<int, Bytes>& inputs,
                                        const RunOptions& options = {});

}  // namespace temper::testing
