#include "compiler/tools/inspect_kernel.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "compiler/target/native_target.h"
#include "compiler/te/canonical.h"
#include "compiler/te/printer.h"
#include "compiler/tools/console.h"
#include "compiler/tools/kernel_view.h"
#include "compiler/tools/profile.h"
#include "compiler/tools/record_source.h"
#include "compiler/tools/untuned.h"
#include "db/sqlite_store.h"

namespace temper::tools {
namespace {

constexpr double kProfileSeconds = 0.5;

// A kernel's time by this machine's peak; `us` and `us_are` are those of the kernel, unless a
// compiled model could be run here.
struct Rate {
  double us = 0, gflops = 0, peak_gflops = 0, peak_share = 0;  // 0: not known
  std::string us_are;
};

Rate RateOf(const KernelView& kernel) {
  Rate rate{.us = kernel.us, .us_are = kernel.us_are};
  if (rate.us <= 0) return rate;
  rate.gflops = kernel.flops / rate.us * 1e-3;
  // A time of another machine says nothing about this one's peak.
  if (Fingerprint(kernel.target) != Fingerprint(DetectTarget())) return rate;
  SystemClock clock;
  RateMeter meter(kernel.target, kernel.threads, kernel.target.vector_bits, clock);
  rate.peak_gflops = meter.Measure().gflops;
  rate.peak_share = rate.gflops / rate.peak_gflops;
  return rate;
}

// The specialization to run for it; one that only optional inputs choose is none.
std::optional<int> SpecializationWith(const temper_model* model, const KernelView& kernel) {
  for (const int k : PlainSpecializations(model)) {
    const temper_specialization_info& s = *temper_specialization(model, k);
    for (int i = 0; i < s.step_count; ++i) {
      if (kernel.hash == s.steps[i].workload) return k;
    }
  }
  return std::nullopt;
}

// Runs the model, in turns with the peak.
Result<Rate> MeasureIn(temper_model* model, const KernelView& kernel) {
  const std::optional<int> specialization = SpecializationWith(model, kernel);
  if (!specialization) return Rate{.us = kernel.us, .us_are = kernel.us_are};
  TEMPER_ASSIGN_OR_RETURN(const std::vector<Array> inputs, SeededInputs(model, *specialization));
  TEMPER_ASSIGN_OR_RETURN(Runner runner, Runner::Create(model, &inputs));
  SystemClock clock;
  TEMPER_ASSIGN_OR_RETURN(const Profile profile,
                          ProfileModel(model, runner, kProfileSeconds, clock));
  Rate rate;
  for (const KernelProfile& k : profile.kernels) {
    if (kernel.hash != k.step->workload || (rate.us > 0 && rate.us <= k.us)) continue;
    rate = {k.us, k.us > 0 ? k.step->flops / k.us * 1e-3 : 0, profile.machine.gflops, k.peak_share,
            "measured in the model"};
  }
  return rate;
}

struct Found {
  KernelView kernel;
  Rate rate;
};

Result<Found> FindKernel(const InspectFlags& flags, const driver::FrontendOptions& frontend,
                         const Target& target) {
  KernelQuery query{flags.kernel, flags.target_given ? Fingerprint(target) : "",
                    flags.threads_given ? flags.model.threads : 0};
  const std::string& path = flags.model.model;
  if (!path.empty() && IsCompiled(path)) {
    TEMPER_ASSIGN_OR_RETURN(ModelPtr model, OpenModel(path, 0));
    TEMPER_ASSIGN_OR_RETURN(KernelView kernel, FindInCompiled(model.get(), query));
    TEMPER_ASSIGN_OR_RETURN(Rate rate, MeasureIn(model.get(), kernel));
    return Found{std::move(kernel), std::move(rate)};
  }
  std::vector<std::string> warnings;
  TEMPER_ASSIGN_OR_RETURN(ScheduleOrigin origin, OpenOrigin(flags, target, &warnings));
  KernelView kernel;
  if (path.empty()) {
    TEMPER_ASSIGN_OR_RETURN(kernel, FindInStore(*origin.store, query));
  } else {
    TEMPER_ASSIGN_OR_RETURN(auto model, driver::BuildKernels(path, frontend, target));
    TEMPER_ASSIGN_OR_RETURN(
        kernel, FindInModel(model, query, target, origin.source.get(), origin.chooser, &warnings));
  }
  for (const std::string& warning : warnings) Warn(warning);
  Rate rate = RateOf(kernel);
  return Found{std::move(kernel), std::move(rate)};
}

std::string Heading(const KernelView& k, const Rate& r) {
  std::string text =
      fmt::format("# {} {}\n# for {} (fingerprint {}), {} thread{}; {:.2f} MFLOP\n", k.hash,
                  EscapeControl(k.name), EscapeControl(k.target.name), Fingerprint(k.target),
                  k.threads, k.threads == 1 ? "" : "s", k.flops * 1e-6);
  if (r.us <= 0) return text + "# its time is not known\n";
  text += fmt::format("# {:.1f} us ({}), {:.1f} GFLOP/s", r.us, EscapeControl(r.us_are), r.gflops);
  if (r.peak_gflops > 0) {
    text +=
        fmt::format(", {:.1f}% of this machine's peak ({:.1f})", r.peak_share * 100, r.peak_gflops);
  }
  return text + "\n";
}

}  // namespace

bool IsCompiled(const std::string& path) {
  // One that its name says to be compiled is refused as such where it is not.
  if (path.ends_with(".so")) return true;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  char magic[4] = {};
  const size_t got = std::fread(magic, 1, sizeof magic, file);
  std::fclose(file);
  return got == sizeof magic && std::string_view(magic, 4) ==
                                    "\x7f"
                                    "ELF";
}

Result<ScheduleOrigin> OpenOrigin(const InspectFlags& flags, const Target& target,
                                  std::vector<std::string>* warnings) {
  ScheduleOrigin origin;
  std::string model;
  if (!flags.db.empty()) {
    db::SqliteOptions options;
    options.log = Logger::Stderr("temper", LogLevel::kWarning);
    TEMPER_ASSIGN_OR_RETURN(origin.store, db::OpenSqliteStoreReadOnly(flags.db, options));
    origin.source = MakeRecordSource(origin.store.get(), flags.db);
    model = StoredModelFor(target, *origin.store, flags.db, warnings);
  }
  origin.chooser = UntunedChooser(std::move(model), warnings);
  return origin;
}

int InspectKernel(const InspectFlags& flags) {
  if (flags.model.model.empty() && flags.db.empty()) {
    return FailUsage("inspect", "--kernel needs a model or --db");
  }
  const bool hexadecimal = flags.kernel.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (flags.kernel.empty() || flags.kernel.size() > 64 || !hexadecimal) {
    return FailUsage("inspect", "--kernel: " + Quoted(flags.kernel) +
                                    " is not the start of a workload's hash, such as 1f0c9a");
  }
  auto frontend = MakeFrontendOptions(flags.model);
  if (!frontend.ok()) return FailUsage("inspect", frontend.status().message());
  auto target = TargetOf(flags.model.target, Logger::Stderr("temper", LogLevel::kWarning));
  if (!target.ok()) return FailUsage("inspect", "--target: " + target.status().message());
  auto found = FindKernel(flags, *frontend, *target);
  if (!found.ok()) return Fail(found.status());
  const KernelView& k = found->kernel;
  const Rate& r = found->rate;

  const bool all = !flags.schedule && !flags.loop_nest && !flags.assembly;
  nlohmann::json json = {{"workload", k.hash},
                         {"name", k.name},
                         {"target", k.target.name},
                         {"fingerprint", Fingerprint(k.target)},
                         {"threads", k.threads},
                         {"flops", k.flops},
                         {"us", r.us},
                         {"us_are", r.us_are},
                         {"gflops", r.gflops},
                         {"peak_gflops", r.peak_gflops},
                         {"peak_share", r.peak_share}};
  json["program"] = te::CanonicalText(k.program);
  json["target_text"] = TargetText(k.target);
  std::string text = Heading(k, r);
  if (all) text += "\n# Program\n" + te::ToText(k.program);
  const auto show = [&](bool wanted, const char* key, const char* title,
                        const auto& make) -> Status {
    if (!wanted && !all) return OkStatus();
    TEMPER_ASSIGN_OR_RETURN(std::string part, make());
    if (all) text += fmt::format("\n# {}\n", title);
    text += part;
    json[key] = std::move(part);
    return OkStatus();
  };
  Status shown = show(flags.schedule, "schedule", "Schedule",
                      [&]() -> Result<std::string> { return ScheduleOf(k); });
  if (shown.ok()) shown = show(flags.loop_nest, "tir", "Loop nest", [&] { return LoopNestOf(k); });
  if (shown.ok()) shown = show(flags.assembly, "asm", "Assembly", [&] { return AssemblyOf(k); });
  if (!shown.ok()) return Fail(shown.WithContext("kernel " + k.hash.substr(0, 12)));
  if (flags.json) {
    text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  Print(text);
  return Flush();
}

}  // namespace temper::tools
