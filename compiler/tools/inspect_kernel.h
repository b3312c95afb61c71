// The part of `temper inspect` that shows one kernel.
#pragma once

#include <string>

#include "compiler/tools/model_flags.h"

namespace temper::tools {

struct InspectFlags {
  ModelFlags model;
  bool target_given = false, threads_given = false;
  bool schedules = false, kernels_only = false, json = false;
  std::string db, kernel;  // of --kernel: the start of a workload's hash
  bool schedule = false, loop_nest = false, assembly = false;
};

bool IsCompiled(const std::string& path);

// Returns the exit status.
int InspectKernel(const InspectFlags& flags);

}  // namespace temper::tools
