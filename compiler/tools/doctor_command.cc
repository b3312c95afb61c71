// temper doctor: what this machine is, and whether it can measure.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "base/core_lock.h"
#include "base/text.h"
#include "compiler/target/native_target.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "worker/sandbox/jail.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper doctor
Shows the target that schedules are kept under, how fast it computes and moves data, whether measured
programs can be jailed, and how steady this machine's speed is. The rates are measured anew and kept for
compile and tune; `--target DESCRIPTION` gives them the same ones on any machine. Exit status 1 where a measure-worker would refuse to start: without
a jail, or without a free core.)";

// Relative scatter of a fixed piece of arithmetic: half of the middle half's width by the median.
double MeasureNoise(const Clock& clock) {
  std::vector<double> times;
  volatile double sink = 0;
  for (int run = 0; run < 200; ++run) {
    const double start = clock.NowSeconds();
    double x = 1;
    for (int i = 0; i < 200'000; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
    times.push_back(clock.NowSeconds() - start);
  }
  static_cast<void>(sink);
  std::sort(times.begin(), times.end());
  return (times[150] - times[50]) / 2 / times[100];
}

nlohmann::json RateJson(const Rates::Rate& rate) {
  return {{"core", rate.core}, {"all", rate.all}};
}

nlohmann::json GbytesJson(const Rates& rates) {
  nlohmann::json json;
  for (int i = 0; i < kLevels; ++i) {
    json[std::string(LevelName(static_cast<Level>(i)))] = RateJson(rates.gbytes[i]);
  }
  return json;
}

int Doctor(bool json) {
  SystemClock clock;
  const std::string rates_folder = RatesFolder();
  Status kept;
  const Target target = MeasureNative(rates_folder, clock, &kept);
  const Status jail = sandbox::ProbeJail("/bin/true", {});
  const double noise = MeasureNoise(clock);
  const std::vector<int> allowed = AllowedCores();
  auto folder = CoreLockFolder();
  const std::vector<int> free_cores = folder.ok() ? UnlockedCores(*folder, allowed) : allowed;
  if (json) {
    Print(nlohmann::json{{"target", target.name},
                         {"cpu", target.cpu},
                         {"fingerprint", Fingerprint(target)},
                         {"micro_architecture", MicroArchitecture(target)},
                         {"features", target.features},
                         {"vector_bits", target.vector_bits},
                         {"l1_bytes", target.l1_bytes},
                         {"l2_bytes", target.l2_bytes},
                         {"l3_bytes", target.l3_bytes},
                         {"description", TargetText(target)},
                         {"gflops", RateJson(target.rates.gflops)},
                         {"gbytes", GbytesJson(target.rates)},
                         {"handoff_ns", target.rates.handoff_ns},
                         {"cores", allowed},
                         {"free_cores", free_cores},
                         {"sandbox", jail.ok()},
                         {"sandbox_problem", jail.message()},
                         {"noise", noise}}
              .dump() +
          "\n");
  } else {
    Print(fmt::format("target       {} (LLVM's {}), fingerprint {}\n", target.name, target.cpu,
                      Fingerprint(target)));
    Print(fmt::format("vectors      {} bits, {} registers{}\n", target.vector_bits,
                      target.vector_registers, target.masked_vectors ? ", masked" : ""));
    Print(fmt::format("features     {}\n", JoinStrings(target.features, " ")));
    Print(fmt::format("caches       L1 {} kB, L2 {} kB, L3 {} kB, lines of {} bytes\n",
                      target.l1_bytes >> 10, target.l2_bytes >> 10, target.l3_bytes >> 10,
                      target.line_bytes));
    const Rates& rates = target.rates;
    Print(fmt::format("peak         {} GFLOP/s, of {} cores {}\n", rates.gflops.core, rates.cores,
                      rates.gflops.all));
    std::vector<std::string> levels;
    for (int i = 0; i < kLevels; ++i) {
      levels.push_back(fmt::format("{} {} / {}", LevelName(static_cast<Level>(i)),
                                   rates.gbytes[i].core, rates.gbytes[i].all));
    }
    Print(fmt::format("reads        {} GB/s of one core / all; to another core and back {} ns\n",
                      JoinStrings(levels, ", "), rates.handoff_ns));
    Print(fmt::format("rates kept   {}\n", rates_folder.empty() ? "nowhere: compile guesses them"
                                           : kept.ok()          ? "in " + rates_folder
                                                                : "not: " + kept.message()));
    Print(fmt::format("description  {}\n", TargetText(target)));
    Print(fmt::format("cores        {}, {} of them free for timing\n", allowed.size(),
                      free_cores.size()));
    Print(fmt::format("noise        {:.1f} %{}\n", noise * 100,
                      noise > 0.05 ? ": high; stop other programs before tuning" : ""));
    Print("sandbox      " + (jail.ok() ? std::string("works") : jail.message()) + "\n");
  }
  const int flushed = Flush();
  if (!folder.ok()) return Fail(folder.status());
  if (free_cores.empty()) {
    return Fail(ResourceExhausted(
        "no core is free for timing: a measure-worker would refuse to start; stop another one"));
  }
  return jail.ok() ? flushed : kExitFailure;
}

}  // namespace

Command AddDoctorCommand(CLI::App& root) {
  auto json = std::make_shared<bool>(false);
  CLI::App* app = root.add_subcommand("doctor", "Check this machine: target, sandbox, noise");
  app->footer(std::string(kExample));
  app->add_flag("--json", *json, "One JSON object on stdout");
  return {app, [json] { return Doctor(*json); }};
}

}  // namespace temper::tools
