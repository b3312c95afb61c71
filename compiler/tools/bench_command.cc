// temper bench: the latency of a compiled model.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/loaded_model.h"
#include "compiler/tools/model_flags.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper bench model.so
  temper bench model.so --seconds 10 --profile
Inputs are seeded values. A tenth of the time is spent warming up.)";

constexpr size_t kMaxRuns = 10'000'000;

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
  std::vector<double> step_us;  // medians; with --profile
};

double Quantile(std::vector<double>& values, double q) {
  const size_t i = std::min(values.size() - 1, static_cast<size_t>(q * values.size()));
  std::nth_element(values.begin(), values.begin() + i, values.end());
  return values[i];
}

Result<Timing> Time(Runner& runner, double seconds, bool profile, const Clock& clock) {
  const double warm = clock.NowSeconds() + seconds / 10;
  do {
    TEMPER_RETURN_IF_ERROR(runner.Run());
  } while (clock.NowSeconds() < warm);
  std::vector<double> ms;
  std::vector<std::vector<double>> steps;
  std::vector<double> step_us;
  const double end = clock.NowSeconds() + seconds;
  double now = clock.NowSeconds();
  do {
    const double start = now;
    TEMPER_RETURN_IF_ERROR(profile ? runner.RunTimed(&step_us) : runner.Run());
    now = clock.NowSeconds();
    ms.push_back((now - start) * 1e3);
    if (profile) {
      steps.resize(step_us.size());
      for (size_t i = 0; i < step_us.size(); ++i) steps[i].push_back(step_us[i]);
      now = clock.NowSeconds();
    }
  } while (now < end && ms.size() < kMaxRuns);
  Timing timing;
  timing.runs = static_cast<int64_t>(ms.size());
  timing.median_ms = Quantile(ms, 0.5);
  timing.p95_ms = Quantile(ms, 0.95);
  timing.best_ms = *std::min_element(ms.begin(), ms.end());
  for (auto& s : steps) timing.step_us.push_back(Quantile(s, 0.5));
  return timing;
}

nlohmann::json ToJson(const temper_model* model, const Timing& t, bool profile) {
  nlohmann::json json = {{"median_ms", t.median_ms},
                         {"p95_ms", t.p95_ms},
                         {"best_ms", t.best_ms},
                         {"runs", t.runs},
                         {"threads", temper_threads(model)}};
  if (!profile) return json;
  double total = 0;
  for (double us : t.step_us) total += us;
  json["kernels"] = nlohmann::json::array();
  for (size_t i = 0; i < t.step_us.size(); ++i) {
    const temper_step_info& step = *temper_step(model, static_cast<int>(i));
    nlohmann::json nodes = nlohmann::json::array();
    for (std::string_view node : SplitString(step.nodes, ',')) nodes.push_back(node);
    json["kernels"].push_back({{"nodes", nodes},
                               {"workload", step.workload},
                               {"source", step.source},
                               {"median_us", t.step_us[i]},
                               {"share", total > 0 ? t.step_us[i] / total : 0}});
  }
  return json;
}

std::string ProfileTable(const temper_model* model, const Timing& t) {
  double total = 0;
  for (double us : t.step_us) total += us;
  std::vector<std::vector<std::string>> rows = {
      {"us", "share", "GFLOP/s", "GB/s", "expected", "source", "workload", "nodes"}};
  std::vector<size_t> order(t.step_us.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return t.step_us[a] > t.step_us[b]; });
  for (size_t i : order) {
    const temper_step_info& step = *temper_step(model, static_cast<int>(i));
    const double us = t.step_us[i];
    rows.push_back({fmt::format("{:.1f}", us),
                    fmt::format("{:.1f}%", total > 0 ? us / total * 100 : 0),
                    us > 0 ? fmt::format("{:.1f}", step.flops / us * 1e-3) : "-",
                    us > 0 ? fmt::format("{:.1f}", step.bytes / us * 1e-3) : "-",
                    step.expected_us > 0 ? fmt::format("{:.1f}", step.expected_us) : "-",
                    step.source, std::string(step.workload).substr(0, 12), step.nodes});
  }
  return FormatTable(rows, {true, true, true, true, true});
}

int Bench(const BenchFlags& flags) {
  auto model = OpenModel(flags.model, flags.threads);
  if (!model.ok()) return Fail(model.status());
  std::vector<Array> inputs;
  for (int i = 0; i < temper_input_count(model->get()); ++i) {
    auto array = SeededArray(*temper_input(model->get(), i), 1, i);
    if (!array.ok()) return Fail(array.status());
    inputs.push_back(std::move(*array));
  }
  auto runner = Runner::Create(model->get(), &inputs);
  if (!runner.ok()) return Fail(runner.status());
  SystemClock clock;
  auto timing = Time(*runner, flags.seconds, flags.profile, clock);
  if (!timing.ok()) return Fail(timing.status());
  if (flags.json) {
    Print(ToJson(model->get(), *timing, flags.profile).dump() + "\n");
    return Flush();
  }
  if (flags.profile) Print(ProfileTable(model->get(), *timing) + "\n");
  Print(fmt::format("median {:.4f} ms   p95 {:.4f} ms   best {:.4f} ms   {} runs, {} thread{}\n",
                    timing->median_ms, timing->p95_ms, timing->best_ms, timing->runs,
                    temper_threads(model->get()), temper_threads(model->get()) == 1 ? "" : "s"));
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
  app->add_flag("--profile", flags->profile, "Time each kernel too");
  app->add_flag("--json", flags->json, "One JSON object on stdout");
  return {app, [flags] { return Bench(*flags); }};
}

}  // namespace temper::tools
