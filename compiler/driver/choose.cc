#include "compiler/driver/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "compiler/driver/parallel.h"
#include "compiler/schedule/text.h"

namespace temper::driver {
namespace {

// The schedule of a record applied to the workload, or why it cannot be.
Result<ChosenKernel> Apply(const FoundSchedule& found, const KernelWorkload& workload,
                           const ChooseOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(schedule::Schedule schedule, schedule::ParseText(found.schedule));
  if (schedule.workload != workload.hash) {
    return FailedPrecondition("it is of workload " + schedule.workload.ShortHex());
  }
  if (te::NumericsOf(schedule.alternative) > options.numerics) {
    return FailedPrecondition(
        fmt::format("its error may be {:g} times 2^-23 sum|ab|, and --numerics {} allows {:g}",
                    te::ErrorBound(schedule.alternative), te::Name(options.numerics),
                    te::ErrorBound(options.numerics)));
  }
  TEMPER_ASSIGN_OR_RETURN(lower::Lowered lowered,
                          lower::LowerToLoops(workload.program, schedule, options.target));
  return ChosenKernel{std::move(schedule),
                      found.exact ? SourceLevel::kExact : SourceLevel::kSimilar, found.us,
                      std::move(lowered)};
}

Result<std::optional<ChosenKernel>> FromSource(const KernelWorkload& workload,
                                               const ChooseOptions& options, ScheduleSource& source,
                                               std::vector<std::string>* warnings) {
  TEMPER_ASSIGN_OR_RETURN(
      auto found, source.Find(workload.hash, options.target, options.threads, workload.constants));
  for (const FoundSchedule& candidate : found) {
    auto chosen = Apply(candidate, workload, options);
    if (chosen.ok()) return std::optional(*std::move(chosen));
    warnings->push_back(fmt::format("{}: a record of {} ({}) is not used: {}", source.Name(),
                                    workload.name, workload.hash.ShortHex(),
                                    chosen.status().message()));
  }
  return std::optional<ChosenKernel>();
}

Result<ChosenKernel> Untuned(const KernelWorkload& workload, const ChooseOptions& options,
                             const ScheduleChooser& chooser) {
  TEMPER_ASSIGN_OR_RETURN(UntunedSchedule untuned, chooser(workload.program, options.target,
                                                           options.threads, workload.constants));
  auto lowered = lower::LowerToLoops(workload.program, untuned.schedule, options.target);
  if (!lowered.ok()) return lowered.status().WithContext("the chosen schedule");
  return ChosenKernel{std::move(untuned.schedule), untuned.level, untuned.expected_us,
                      *std::move(lowered)};
}

}  // namespace

std::string_view SourceName(SourceLevel level) {
  switch (level) {
    case SourceLevel::kExact:
      return "exact";
    case SourceLevel::kSimilar:
      return "similar";
    case SourceLevel::kModel:
      return "model";
    case SourceLevel::kPrior:
      return "prior";
  }
  return "prior";
}

Result<std::vector<ChosenKernel>> ChooseSchedules(const std::vector<KernelWorkload>& workloads,
                                                  const ChooseOptions& options,
                                                  ScheduleSource* source,
                                                  const ScheduleChooser& chooser,
                                                  std::vector<std::string>* warnings) {
  std::vector<std::optional<ChosenKernel>> chosen(workloads.size());
  std::vector<int> missing;
  for (size_t i = 0; i < workloads.size(); ++i) {
    if (source) {
      TEMPER_ASSIGN_OR_RETURN(chosen[i], FromSource(workloads[i], options, *source, warnings));
    }
    if (!chosen[i]) missing.push_back(static_cast<int>(i));
  }
  if (options.require_tuned && !missing.empty()) {
    std::string list;
    for (int i : missing) {
      list += fmt::format("\n  {} {}", workloads[i].hash.ShortHex(), workloads[i].name);
    }
    return NotFound(fmt::format(
        "{} of {} kernels have no usable record for {} and {} threads{}:{}\nTune the model with "
        "`temper tune`, or leave out --require-tuned.",
        missing.size(), workloads.size(), options.target.name, options.threads,
        source ? " in " + source->Name() : "", list));
  }
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  TEMPER_RETURN_IF_ERROR(
      ForEachParallel(static_cast<int>(missing.size()), threads, [&](int m) -> Status {
        const KernelWorkload& workload = workloads[missing[m]];
        auto kernel = Untuned(workload, options, chooser);
        if (!kernel.ok()) return kernel.status().WithContext("kernel " + workload.name);
        chosen[missing[m]] = *std::move(kernel);
        return OkStatus();
      }));
  std::vector<ChosenKernel> result;
  for (auto& kernel : chosen) result.push_back(*std::move(kernel));
  return result;
}

}  // namespace temper::driver
