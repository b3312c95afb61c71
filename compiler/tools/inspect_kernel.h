// The part of `temper inspect` that shows one kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/choose.h"
#include "compiler/tools/model_flags.h"
#include "db/store.h"

namespace temper::tools {

struct InspectFlags {
  ModelFlags model;
  bool target_given = false, threads_given = false;
  bool schedules = false, kernels_only = false, json = false;
  std::string db, kernel;  // of --kernel: the start of a workload's hash
  bool schedule = false, loop_nest = false, assembly = false;
};

bool IsCompiled(const std::string& path);

// Where the schedules of a model that is not compiled come from: --db, or the prior.
struct ScheduleOrigin {
  std::unique_ptr<db::Store> store;                // null without --db
  std::unique_ptr<driver::ScheduleSource> source;  // the same
  driver::ScheduleChooser chooser;
};
Result<ScheduleOrigin> OpenOrigin(const InspectFlags& flags, const Target& target,
                                  std::vector<std::string>* warnings);

// Returns the exit status.
int InspectKernel(const InspectFlags& flags);

}  // namespace temper::tools
