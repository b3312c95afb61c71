#include "compiler/tools/profile.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "compiler/te/canonical.h"
#include "compiler/tools/console.h"

namespace temper::tools {
namespace {

constexpr double kTurnSeconds = 0.2;
constexpr size_t kMostCopies = 32;  // sizes timed so; of others a level's rate counts
constexpr size_t kMinTurns = 3, kMaxTurns = 10'000, kMaxRunsInATurn = 100'000;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

// How many operations more than te::FlopCount's eight a function takes on the units of the peak.
double MoreOperations(tir::Intrinsic function) {
  switch (function) {
    case tir::Intrinsic::kAbs:
    case tir::Intrinsic::kFloor:
    case tir::Intrinsic::kCeil:
    case tir::Intrinsic::kRoundEven:
    case tir::Intrinsic::kIsNan:
    case tir::Intrinsic::kIsInf:
      return 1 - 8;
    case tir::Intrinsic::kSqrt:
    case tir::Intrinsic::kRsqrt:
      return 0;
    default:
      return 20 - 8;  // ten instructions, a multiply-add counting two
  }
}

// As te::FlopCount counts. `known` makes it linear in a body's distinct nodes.
double MoreOperations(const tir::Expr& e, std::map<const tir::ExprNode*, double>& known) {
  if (e->kind() == tir::ExprKind::kLoad) return 0;
  if (auto found = known.find(e.get()); found != known.end()) return found->second;
  double more = e->kind() == tir::ExprKind::kCall ? MoreOperations(e->intrinsic()) : 0;
  const size_t first = e->kind() == tir::ExprKind::kSelect ? 1 : 0;
  for (const tir::Expr& o : e->operands().subspan(first)) more += MoreOperations(o, known);
  return known[e.get()] = more;
}

double MoreOperations(const te::Program& program) {
  double more = 0;
  for (const te::Stage& stage : program.stages) {
    double points = 1;
    for (int a = 0; a < stage.axis_count(); ++a) {
      points *= static_cast<double>(stage.axis(a).extent);
    }
    std::map<const tir::ExprNode*, double> known;
    more += points * MoreOperations(stage.body, known);
  }
  return more;
}

double WeightBytes(const te::Program& program) {
  double bytes = 0;
  for (int input : program.inputs) {
    const te::Tensor& tensor = program.tensors[input];
    if (!tensor.constant) continue;
    double count = ByteSize(tensor.dtype);
    for (int64_t extent : tensor.shape) count *= static_cast<double>(extent);
    bytes += count;
  }
  return bytes;
}

double PeakRss() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;
}

// 10^9 bytes a second by how many are touched.
using Copies = std::map<int64_t, double>;

struct Bound {
  double us = 0;
  std::string_view by;
};

class Profiler {
 public:
  Profiler(temper_model* model, const temper_specialization_info& chosen, const Clock& clock)
      : model_(model),
        chosen_(chosen),
        clock_(clock),
        machine_(DetectTarget()),
        threads_(temper_threads(model)) {
    profile_.kernels.resize(chosen.step_count);
    for (int i = 0; i < chosen.step_count; ++i) {
      KernelProfile& k = profile_.kernels[i];
      k.step = &chosen.steps[i];
      k.operations = k.step->flops;
      const temper_workload_info* workload = temper_workload(model, k.step->workload);
      if (workload == nullptr) continue;
      k.name = workload->name;
      if (auto program = te::ParseProgram(workload->program); program.ok()) {
        k.weight_bytes = std::min(WeightBytes(*program), static_cast<double>(k.step->bytes));
        k.operations = std::max(0.0, k.operations + MoreOperations(*program));
      }
    }
  }

  Result<Profile> Run(Runner& runner, double seconds) {
    TEMPER_RETURN_IF_ERROR(runner.Run());
    profile_.peak_rss_bytes = PeakRss();
    auto compiled_for = ParseTargetText(temper_target(model_));
    RateMeter meter(machine_, threads_, compiled_for.ok() ? compiled_for->vector_bits : 512,
                    clock_);
    const size_t steps = profile_.kernels.size();
    std::vector<std::vector<double>> us(steps), roofline(steps), peak(steps);
    std::vector<MachineRates> rates;
    const double end = clock_.NowSeconds() + seconds;
    const double turn_seconds = std::min(kTurnSeconds, seconds / kMinTurns);
    while ((rates.size() < kMinTurns || clock_.NowSeconds() < end) && rates.size() < kMaxTurns) {
      rates.push_back(meter.Measure());
      const Copies copies = MeasureCopies(meter);
      TEMPER_RETURN_IF_ERROR(runner.Run());  // brings its own data back
      std::vector<std::vector<double>> turn(steps);
      const size_t first_run = profile_.run_ms.size();
      TEMPER_RETURN_IF_ERROR(Turn(runner, turn_seconds, turn));
      const auto first = profile_.run_ms.begin() + static_cast<std::ptrdiff_t>(first_run);
      const double run_ms = Median({first, profile_.run_ms.end()});
      profile_.turns.push_back({run_ms * 1e3, rates.back().gflops});
      for (size_t i = 0; i < steps; ++i) {
        const double median = Median(turn[i]);
        us[i].insert(us[i].end(), turn[i].begin(), turn[i].end());
        if (median <= 0) continue;
        roofline[i].push_back(BoundOf(profile_.kernels[i], rates.back(), copies).us / median);
        const KernelProfile& k = profile_.kernels[i];
        peak[i].push_back(k.runs * k.step->flops / median * 1e-3 / rates.back().gflops);
      }
    }
    Finish(us, roofline, peak, rates);
    return std::move(profile_);
  }

 private:
  Status Turn(Runner& runner, double seconds, std::vector<std::vector<double>>& steps) {
    const double end = clock_.NowSeconds() + seconds;
    std::vector<double> us;
    double start = clock_.NowSeconds();
    for (size_t n = 0; (n == 0 || start < end) && n < kMaxRunsInATurn; ++n) {
      TEMPER_RETURN_IF_ERROR(runner.RunTimed(&us));
      profile_.run_ms.push_back((clock_.NowSeconds() - start) * 1e3);
      for (size_t i = 0; i < us.size(); ++i) {
        steps[i].push_back(us[i]);
        profile_.kernels[i].runs =
            static_cast<double>(temper_step_runs(model_, static_cast<int>(i)));
      }
      start = clock_.NowSeconds();
    }
    return OkStatus();
  }

  // Of footprints that a cache holds.
  Copies MeasureCopies(RateMeter& meter) {
    Copies copies;
    for (const KernelProfile& k : profile_.kernels) {
      const auto bytes = static_cast<double>(k.step->bytes);
      if (bytes <= 0 || bytes > 0.5 * static_cast<double>(machine_.l3_bytes)) continue;
      if (copies.size() == kMostCopies || copies.contains(k.step->bytes)) continue;
      copies[k.step->bytes] = meter.MeasureCopy(bytes);
      copied_[k.step->bytes].push_back(copies[k.step->bytes]);
    }
    return copies;
  }

  // The weights of all kernels pass through the caches in each run.
  Bound BoundOf(const KernelProfile& k, const MachineRates& rates, const Copies& copies) const {
    const double resident =
        static_cast<double>(temper_weight_bytes(model_)) + static_cast<double>(chosen_.arena_bytes);
    const double others = static_cast<double>(k.step->bytes) - k.weight_bytes;
    const Level weights_at = LevelOf(machine_, threads_, resident);
    const Level others_at = LevelOf(machine_, threads_, static_cast<double>(k.step->bytes));
    const double weights_us =
        k.runs * k.weight_bytes * 1e-3 / rates.gbytes[static_cast<int>(weights_at)];
    const auto copy = copies.find(k.step->bytes);
    const double rate =
        copy == copies.end() ? rates.gbytes[static_cast<int>(others_at)] : copy->second;
    const double others_us = k.runs * others * 1e-3 / rate;
    const double compute_us = k.runs * k.operations * 1e-3 / rates.gflops;
    if (compute_us >= weights_us + others_us) return {compute_us, "compute"};
    return {weights_us + others_us, LevelName(weights_us > others_us ? weights_at : others_at)};
  }

  void Finish(const std::vector<std::vector<double>>& us,
              const std::vector<std::vector<double>>& roofline,
              const std::vector<std::vector<double>>& peak,
              const std::vector<MachineRates>& rates) {
    const auto median_rate = [&](auto&& get) {
      std::vector<double> values;
      for (const MachineRates& r : rates) values.push_back(get(r));
      return Median(values);
    };
    profile_.machine.gflops = median_rate([](const MachineRates& r) { return r.gflops; });
    for (int i = 0; i < kLevels; ++i) {
      profile_.machine.gbytes[i] = median_rate([i](const MachineRates& r) { return r.gbytes[i]; });
    }
    Copies copies;
    for (const auto& [bytes, of_turns] : copied_) copies[bytes] = Median(of_turns);
    double total = 0;
    for (size_t i = 0; i < us.size(); ++i) {
      KernelProfile& k = profile_.kernels[i];
      const Bound bound = BoundOf(k, profile_.machine, copies);
      k.us = Median(us[i]);
      k.bound_us = bound.us;
      k.bound_by = bound.by;
      k.roofline_share = Median(roofline[i]);
      k.peak_share = Median(peak[i]);
      total += k.us;
    }
    for (KernelProfile& k : profile_.kernels) k.share = total > 0 ? k.us / total : 0;
  }

  temper_model* model_;
  const temper_specialization_info& chosen_;
  const Clock& clock_;
  Target machine_;
  int threads_;
  std::map<int64_t, std::vector<double>> copied_;  // rates by size, one a turn
  Profile profile_;
};

std::string Percent(double share) { return fmt::format("{:.1f}%", share * 100); }

}  // namespace

Result<Profile> ProfileModel(temper_model* model, Runner& runner, double seconds,
                             const Clock& clock) {
  return Profiler(model, runner.chosen(), clock).Run(runner, seconds);
}

nlohmann::json ProfileJson(const temper_model* model, const Profile& profile) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelProfile& k : profile.kernels) {
    const auto bytes = static_cast<double>(k.step->bytes);
    kernels.push_back({{"nodes", SplitNames(k.step->nodes)},
                       {"name", k.name},
                       {"workload", k.step->workload},
                       {"source", k.step->source},
                       {"expected_us", k.step->expected_us},
                       {"runs", k.runs},
                       {"median_us", k.us},
                       {"share", k.share},
                       {"flops", k.step->flops},
                       {"multiply_adds", k.step->flops / 2},
                       {"bytes", k.step->bytes},
                       {"weight_bytes", k.weight_bytes},
                       {"intensity", bytes > 0 ? k.step->flops / bytes : 0},
                       {"gflops", k.us > 0 ? k.runs * k.step->flops / k.us * 1e-3 : 0},
                       {"gbytes_per_second", k.us > 0 ? k.runs * bytes / k.us * 1e-3 : 0},
                       {"bound_by", k.bound_by},
                       {"bound_us", k.bound_us},
                       {"roofline_share", k.roofline_share},
                       {"peak_share", k.peak_share}});
  }
  nlohmann::json machine = {{"peak_gflops", profile.machine.gflops}};
  for (int i = 0; i < kLevels; ++i) {
    machine[std::string(LevelName(static_cast<Level>(i))) + "_gbytes_per_second"] =
        profile.machine.gbytes[i];
  }
  return {{"kernels", kernels},
          {"machine", machine},
          {"memory",
           {{"arena_bytes", temper_arena_bytes(model)},
            {"weight_bytes", temper_weight_bytes(model)},
            {"peak_rss_bytes", profile.peak_rss_bytes}}}};
}

std::string ProfileTable(const temper_model* model, const Profile& profile) {
  std::vector<std::vector<std::string>> rows = {
      {"us", "share", "runs", "MMAC", "MB", "flop/B", "GFLOP/s", "of peak", "bound by", "of bound",
       "expected", "source", "workload", "kernel", "nodes"}};
  std::vector<size_t> order(profile.kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return profile.kernels[a].us > profile.kernels[b].us;
  });
  for (size_t i : order) {
    const KernelProfile& k = profile.kernels[i];
    const auto bytes = static_cast<double>(k.step->bytes);
    rows.push_back({fmt::format("{:.1f}", k.us), Percent(k.share), fmt::format("{:.0f}", k.runs),
                    fmt::format("{:.2f}", k.step->flops / 2e6), fmt::format("{:.2f}", bytes * 1e-6),
                    bytes > 0 ? fmt::format("{:.1f}", k.step->flops / bytes) : "-",
                    k.us > 0 ? fmt::format("{:.1f}", k.runs * k.step->flops / k.us * 1e-3) : "-",
                    Percent(k.peak_share), k.bound_by, Percent(k.roofline_share),
                    k.step->expected_us > 0 ? fmt::format("{:.1f}", k.step->expected_us) : "-",
                    k.step->source, std::string(k.step->workload).substr(0, 12),
                    EscapeControl(k.name),
                    EscapeControl(JoinStrings(SplitNames(k.step->nodes), ", "))});
  }
  std::string text =
      FormatTable(rows, {true, true, true, true, true, true, true, true, false, true, true});
  text += fmt::format("machine: {:.1f} GFLOP/s", profile.machine.gflops);
  for (int i = 0; i < kLevels; ++i) {
    text += fmt::format(", {} {:.0f} GB/s", LevelName(static_cast<Level>(i)),
                        profile.machine.gbytes[i]);
  }
  const bool beyond = std::any_of(profile.kernels.begin(), profile.kernels.end(),
                                  [](const KernelProfile& k) { return k.roofline_share > 1; });
  const char* note =
      beyond ? "of bound: above 100% where a kernel does less arithmetic than its operation counts "
               "(Winograd)\nor finds its data in a nearer cache than the bound assumes\n"
             : "";
  return text + fmt::format(
                    " (copies; {} thread{})\nmemory: scratch {}, weights {}, peak of the "
                    "process {}\n{}",
                    temper_threads(model), temper_threads(model) == 1 ? "" : "s",
                    FormatBytes(static_cast<double>(temper_arena_bytes(model))),
                    FormatBytes(static_cast<double>(temper_weight_bytes(model))),
                    FormatBytes(profile.peak_rss_bytes), note);
}

}  // namespace temper::tools
