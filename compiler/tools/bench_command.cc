// temper bench: the latency of a compiled model.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/steadiness.h"
#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/loaded_model.h"
#include "compiler/tools/model_flags.h"
#include "compiler/tools/profile.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper bench model.so
  temper bench model.so --seconds 10 --profile
Inputs are seeded values. A model of several shapes is measured with each. A tenth more time is spent warming up. --profile lists the kernels with
their arithmetic, bytes, and what bounds them: the machine's multiply-add peak, or copies at the
level of memory that holds what they touch. Both are measured in turns with the model. "of bound"
can exceed 100%: a Winograd convolution does less arithmetic than is counted, and a small kernel
may find its data in a nearer cache. Runs are taken in turns with the machine's multiply-add peak: a
warning says why where, even relative to it, another run may differ by more than 5%. Compare runs
of different hours by normalized_ms times peak_gflops of --json.)";

constexpr size_t kMaxRuns = 10'000'000;
constexpr double kTurnSeconds = 0.1;
constexpr double kLeastTurns = 10;
constexpr double kPeakShare = 0.05;  // of a turn

struct BenchFlags {
  std::string model;
  int threads = 0;
  double seconds = 3;
  bool profile = false;
  bool json = false;
};

struct Timing {
  double median_ms = 0, p95_ms = 0, best_ms = 0;
  int64_t runs = 0;
};

double Quantile(std::vector<double>& values, double q) {
  const size_t i = std::min(values.size() - 1, static_cast<size_t>(q * values.size()));
  std::nth_element(values.begin(), values.begin() + i, values.end());
  return values[i];
}

// The times of runs, one after another, for about `seconds`.
Result<std::vector<double>> TimeRuns(Runner& runner, double seconds, const Clock& clock) {
  std::vector<double> ms;
  const double end = clock.NowSeconds() + seconds;
  double now = clock.NowSeconds();
  do {
    const double start = now;
    TEMPER_RETURN_IF_ERROR(runner.Run());
    now = clock.NowSeconds();
    ms.push_back((now - start) * 1e3);
  } while (now < end && ms.size() < kMaxRuns);
  return ms;
}

// The same in turns with the machine's peak.
Result<std::vector<double>> TimeInTurns(Runner& runner, int threads, double seconds,
                                        const Clock& clock, std::vector<TimedTurn>* turns) {
  PeakMeter meter(threads, clock);
  std::vector<double> ms;
  const double turn_seconds = std::min(kTurnSeconds, seconds / kLeastTurns);
  const double end = clock.NowSeconds() + seconds;
  do {
    const double gflops = meter.Measure(turn_seconds * kPeakShare);
    TEMPER_RETURN_IF_ERROR(runner.Run());  // the peak's loop has put the caches to rest
    TEMPER_ASSIGN_OR_RETURN(auto turn, TimeRuns(runner, turn_seconds * (1 - kPeakShare), clock));
    ms.insert(ms.end(), turn.begin(), turn.end());
    turns->push_back({Quantile(turn, 0.5) * 1e3, gflops});
  } while (clock.NowSeconds() < end && ms.size() < kMaxRuns);
  return ms;
}

Timing Summarize(std::vector<double> ms) {
  Timing timing;
  timing.runs = static_cast<int64_t>(ms.size());
  timing.median_ms = Quantile(ms, 0.5);
  timing.p95_ms = Quantile(ms, 0.95);
  timing.best_ms = *std::min_element(ms.begin(), ms.end());
  return timing;
}

// One specialization's figures.
struct Measured {
  Timing timing;
  Steadiness steadiness;
  std::optional<Profile> profile;
};

Result<Measured> Measure(const BenchFlags& flags, temper_model* model, int specialization) {
  TEMPER_ASSIGN_OR_RETURN(const std::vector<Array> inputs, SeededInputs(model, specialization));
  TEMPER_ASSIGN_OR_RETURN(Runner runner, Runner::Create(model, &inputs));
  const SystemClock clock;
  TEMPER_RETURN_IF_ERROR(TimeRuns(runner, flags.seconds / 10, clock).status());  // warms up
  Measured measured;
  std::vector<TimedTurn> turns;
  const DisturbanceMeter disturbance(clock);
  if (flags.profile) {
    TEMPER_ASSIGN_OR_RETURN(measured.profile, ProfileModel(model, runner, flags.seconds, clock));
    measured.timing = Summarize(measured.profile->run_ms);
    turns = measured.profile->turns;
  } else {
    TEMPER_ASSIGN_OR_RETURN(std::vector<double> ms, TimeInTurns(runner, temper_threads(model),
                                                                flags.seconds, clock, &turns));
    measured.timing = Summarize(std::move(ms));
  }
  measured.steadiness = JudgeSteadiness(turns, disturbance.Read());
  return measured;
}

nlohmann::json ToJson(temper_model* model, int specialization, const Measured& measured) {
  const Timing& timing = measured.timing;
  nlohmann::json inputs = nlohmann::json::object();
  for (int i = 0; i < temper_input_count(model); ++i) {
    const temper_tensor_info& info = temper_specialization(model, specialization)->inputs[i];
    inputs[info.name] = std::vector<int64_t>(info.shape, info.shape + info.ndim);
  }
  nlohmann::json json = {{"median_ms", timing.median_ms},    {"p95_ms", timing.p95_ms},
                         {"best_ms", timing.best_ms},        {"runs", timing.runs},
                         {"threads", temper_threads(model)}, {"inputs", inputs}};
  json["peak_gflops"] = measured.steadiness.gflops;
  json["normalized_ms"] = measured.steadiness.normalized_us * 1e-3;
  json["within"] = measured.steadiness.within;
  json["warning"] = measured.steadiness.warning;
  if (measured.profile) json.update(ProfileJson(model, *measured.profile));
  return json;
}

int Bench(const BenchFlags& flags) {
  auto model = OpenModel(flags.model, flags.threads);
  if (!model.ok()) return Fail(model.status());
  temper_model* m = model->get();
  const std::vector<int> specializations = PlainSpecializations(m);
  nlohmann::json json;  // the first's keys, and a list of all where there are several
  nlohmann::json list = nlohmann::json::array();
  for (const int k : specializations) {
    auto measured = Measure(flags, m, k);
    if (!measured.ok()) return Fail(measured.status());
    if (flags.json) {
      list.push_back(ToJson(m, k, *measured));
      continue;
    }
    if (specializations.size() > 1) Print(EscapeControl(DescribeInputs(m, k)) + "\n");
    if (measured->profile) Print(ProfileTable(m, *measured->profile) + "\n");
    const Timing& timing = measured->timing;
    Print(fmt::format("median {:.4f} ms   p95 {:.4f} ms   best {:.4f} ms   {} runs, {} thread{}\n",
                      timing.median_ms, timing.p95_ms, timing.best_ms, timing.runs,
                      temper_threads(m), temper_threads(m) == 1 ? "" : "s"));
    const Steadiness& steadiness = measured->steadiness;
    Print(fmt::format("peak {:.1f} GFLOP/s in turns", steadiness.gflops));
    if (steadiness.within < 1) {  // else there were too few, as the warning says, or all differ
      Print(fmt::format("   four of five turns within {:.1f}%", steadiness.within * 100));
    }
    Print("\n");
    if (!steadiness.warning.empty()) Warn(steadiness.warning);
  }
  if (flags.json) {
    json = list[0];
    if (list.size() > 1) json["specializations"] = std::move(list);
    Print(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  return Flush();
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = root.add_subcommand("bench", "Measure the latency of a compiled model");
  app->footer(std::string(kExample));
  app->add_option("model", flags->model, "Compiled model (.so)")->required();
  app->add_option("--threads", flags->threads, "Threads; 0: those it was compiled for")
      ->check(CLI::Range(0, 256));
  app->add_option("--seconds", flags->seconds, "How long to measure")
      ->check(NumberCheck(0, 86400, /*least_excluded=*/true))
      ->capture_default_str();
  app->add_flag("--profile", flags->profile, "Time each kernel, against what the machine can do");
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags] { return Bench(*flags); }};
}

}  // namespace temper::tools
