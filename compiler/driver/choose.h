// Which schedule each workload is compiled with, and where it comes from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/kernels.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/schedule.h"
#include "compiler/te/alternatives.h"

namespace temper::driver {

// From best to worst: measured on this target; measured on another one of its micro-architecture;
// chosen by a trained cost model; chosen by the analytic prior.
enum class SourceLevel { kExact, kSimilar, kModel, kPrior };
std::string_view SourceName(SourceLevel level);  // "exact", "similar", "model", "prior"

struct UntunedSchedule {
  schedule::Schedule schedule;
  SourceLevel level = SourceLevel::kPrior;  // kModel or kPrior
  double expected_us = 0;                   // 0: not known
};

// Finds a good schedule without records, for a canonical program. Called from several threads.
using ScheduleChooser = std::function<Result<UntunedSchedule>(const te::Program&, const Target&,
                                                              int threads, Constants constants)>;

// A workload with its schedule applied.
struct ChosenKernel {
  schedule::Schedule schedule;
  SourceLevel level = SourceLevel::kPrior;
  double expected_us = 0;  // 0: not known
  lower::Lowered lowered;
};

struct ChooseOptions {
  Target target;
  int threads = 1;
  bool require_tuned = false;  // fail where a workload has no exact or similar schedule
  te::Numerics numerics = te::kDefaultNumerics;  // no record of a larger error is used
};

// One a workload. A schedule of `source` (may be null) that is not one, is for another workload or
// is illegal here is passed over with a warning. NOT_FOUND with require_tuned lists what is
// missing.
Result<std::vector<ChosenKernel>> ChooseSchedules(const std::vector<KernelWorkload>& workloads,
                                                  const ChooseOptions& options,
                                                  ScheduleSource* source,
                                                  const ScheduleChooser& chooser,
                                                  std::vector<std::string>* warnings);

}  // namespace temper::driver
