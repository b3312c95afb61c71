// How much is lost where the prior alone chooses among measured candidates: a line a workload and
// number of threads of a tuning database.
//
//   costmodel_regret DB [--threads N] [--most 400] [--show] [--quick] [CONSTANT=VALUE]...
//                   [try:CONSTANT=VALUE,VALUE...]... [rates=RATES]
//
// Rank correlation (Spearman) over the candidates that ran, the time of the prior's pick and of the
// best, their estimates, and how much slower the pick is; in the last line the sums and the
// geometric mean, which is all that is printed for each value to try. Constants are those of
// costmodel/prior.h, of which --list names the ones that can be changed. Candidates were timed by
// themselves, so that what a model does to the caches does not show here. --quick takes the quick
// samples of a candidate instead of their median.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "costmodel/prior.h"
#include "costmodel/rank.h"
#include "db/sqlite_store.h"

namespace temper {
namespace {

using costmodel::PriorConstants;

const std::map<std::string, double PriorConstants::*> kConstants = {
    {"conflict", &PriorConstants::conflict},
    {"shown", &PriorConstants::shown},
    {"kept_pages", &PriorConstants::kept_pages},
    {"page_cycles", &PriorConstants::page_cycles},
    {"window", &PriorConstants::window},
    {"memory_ns", &PriorConstants::memory_ns},
    {"torn_ns", &PriorConstants::torn_ns},
    {"ahead_used", &PriorConstants::ahead_used},
    {"call_cycles", &PriorConstants::call_cycles},
    {"loop_cycles", &PriorConstants::loop_cycles},
    {"long_body", &PriorConstants::long_body},
    {"long_cost", &PriorConstants::long_cost},
    {"condition_instructions", &PriorConstants::condition_instructions},
    {"kept_conditions", &PriorConstants::kept_conditions},
    {"cache_share", &PriorConstants::cache_share},
    {"shared_cache_share", &PriorConstants::shared_cache_share},
    {"first_miss_cycles", &PriorConstants::first_miss_cycles},
    {"written_ways", &PriorConstants::written_ways},
    {"fork_us", &PriorConstants::fork_us},
    {"cold_bytes", &PriorConstants::cold_bytes},
};

struct Candidate {
  std::vector<costmodel::StoreView> stores;
  double us = 0;
  int alternative = 0;
  std::string schedule;
};

struct Workload {
  std::string name;
  int threads = 1;
  double flops = 0;
  std::vector<Candidate> candidates;
};

// A tenth of the samples are quicker: unlike the median it leaves out what a busy core does to
// kernels of several threads.
double QuickUs(const db::Record& r) {
  std::vector<float> samples = r.samples;
  if (samples.empty()) return r.RankUs();
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 10] / r.drift;
}

std::vector<Workload> Read(db::RecordStore& store, const Target& target, int threads, size_t most,
                           bool quick) {
  std::map<std::pair<Hash, int>, Workload> found;
  std::map<std::pair<Hash, int>, te::Program> programs;
  std::map<std::pair<Hash, int>, size_t> counts, seen;
  Status counted = store.ForEach({}, [&](const db::Record& r) {
    if (r.outcome == Outcome::kOk) ++counts[{r.key.workload, r.key.threads}];
    return true;
  });
  if (!counted.ok()) fmt::print(stderr, "{}\n", counted.message());
  Status status = store.ForEach({}, [&](const db::Record& r) {
    if (r.outcome != Outcome::kOk || (threads > 0 && r.key.threads != threads)) return true;
    auto schedule = schedule::ParseText(r.schedule);
    if (!schedule.ok()) return true;
    const std::pair key(r.key.workload, r.key.threads);
    Workload& w = found[key];
    // Every so many, so that early and late ones of a search are among them.
    if (seen[key]++ % (counts[key] / most + 1) != 0) return true;
    auto at = programs.find({r.key.workload, schedule->alternative});
    if (at == programs.end()) {
      auto program = te::ParseProgram(r.workload_text);
      if (!program.ok()) return true;
      auto chosen = te::MakeAlternative(*program, schedule->alternative);
      if (!chosen.ok()) return true;
      at = programs.emplace(std::pair(r.key.workload, schedule->alternative), *chosen).first;
    }
    auto lowered = lower::LowerAlternative(at->second, *schedule, target);
    if (!lowered.ok()) return true;
    const std::vector<int> constants = lower::ConstantBuffers(*lowered);
    w.name = r.task_name;
    w.threads = r.key.threads;
    w.flops = r.flops;
    w.candidates.push_back({costmodel::ViewStores(lowered->function, target, constants),
                            quick ? QuickUs(r) : r.RankUs(), schedule->alternative, r.schedule});
    return true;
  });
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  std::vector<Workload> all;
  for (auto& [key, w] : found) {
    if (w.candidates.size() >= 8) all.push_back(std::move(w));
  }
  return all;
}

void Report(const std::vector<Workload>& workloads, const Target& target, const PriorConstants& c,
            bool lines, bool show) {
  double picks = 0, bests = 0, logs = 0, correlations = 0;
  for (const Workload& w : workloads) {
    std::vector<double> predicted, measured;
    std::vector<costmodel::StoreEstimate> estimates;
    size_t pick = 0, best = 0;
    for (size_t i = 0; i < w.candidates.size(); ++i) {
      predicted.push_back(
          costmodel::EstimateProgram(w.candidates[i].stores, target, w.threads, &estimates, c));
      measured.push_back(w.candidates[i].us);
      if (predicted[i] < predicted[pick]) pick = i;
      if (measured[i] < measured[best]) best = i;
    }
    double correlation = costmodel::RankCorrelation(predicted, measured);
    if (lines)
      fmt::print(
          "{:2} {:40.40} {:4} spearman {:5.2f}  pick {:9.1f} (alternative {}, prior {:9.1f})  best "
          "{:9.1f} (alternative {}, prior {:9.1f})  {:5.3f}\n",
          w.threads, w.name, w.candidates.size(), correlation, measured[pick],
          w.candidates[pick].alternative, predicted[pick], measured[best],
          w.candidates[best].alternative, predicted[best], measured[pick] / measured[best]);
    if (show) {
      for (size_t i : {pick, best}) {
        costmodel::EstimateProgram(w.candidates[i].stores, target, w.threads, &estimates, c);
        fmt::print("   {}\n", w.candidates[i].schedule.substr(80));
        for (const auto& e : estimates) {
          if (e.total_us < 0.02 * predicted[i]) continue;
          fmt::print("     compute {:.1f} L2 {:.1f} L3 {:.1f} memory {:.1f}: {:.1f}\n",
                     e.compute_us, e.l2_us, e.l3_us, e.memory_us, e.total_us);
        }
      }
    }
    picks += measured[pick];
    bests += measured[best];
    logs += std::log(measured[pick] / measured[best]);
    correlations += correlation;
  }
  auto n = static_cast<double>(workloads.size());
  fmt::print(
      "{} workloads: spearman {:.3f}, picks {:.1f} us, bests {:.1f} us, {:.3f}; mean {:.3f}\n",
      workloads.size(), correlations / n, picks, bests, picks / bests, std::exp(logs / n));
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  using namespace temper;
  PriorConstants constants;
  int threads = 0;
  size_t most = 400;
  bool show = false, quick = false;
  std::string database;
  std::vector<std::pair<std::string, double>> sweeps;
  Target target = DetectTarget();
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    size_t equal = arg.find('=');
    if (arg == "--threads" && i + 1 < argc) {
      threads = std::stoi(argv[++i]);
    } else if (arg == "--most" && i + 1 < argc) {
      most = std::stoul(argv[++i]);
    } else if (arg == "--show") {
      show = true;
    } else if (arg == "--quick") {
      quick = true;
    } else if (arg == "--list") {
      for (const auto& [name, member] : kConstants) fmt::print("{}={}\n", name, constants.*member);
      return 0;
    } else if (arg.starts_with("rates=")) {
      auto rates = ParseRates(arg.substr(6));
      if (!rates.ok()) {
        fmt::print(stderr, "{}\n", rates.status().message());
        return 2;
      }
      target.rates = *rates;
    } else if (arg.starts_with("try:") && kConstants.count(arg.substr(4, equal - 4)) != 0) {
      for (size_t at = equal + 1; at < arg.size(); at = arg.find_first_of(',', at) + 1) {
        sweeps.emplace_back(arg.substr(4, equal - 4), std::stod(arg.substr(at)));
        if (arg.find(',', at) == std::string::npos) break;
      }
    } else if (equal != std::string::npos && kConstants.count(arg.substr(0, equal)) != 0) {
      constants.*kConstants.at(arg.substr(0, equal)) = std::stod(arg.substr(equal + 1));
    } else {
      database = arg;
    }
  }
  auto store = db::OpenSqliteStoreReadOnly(database, {});
  if (!store.ok()) {
    fmt::print(stderr, "{}\n", store.status().message());
    return 1;
  }
  const std::vector<Workload> workloads = Read(**store, target, threads, most, quick);
  Report(workloads, target, constants, sweeps.empty(), show);
  for (const auto& [name, value] : sweeps) {
    PriorConstants changed = constants;
    changed.*kConstants.at(name) = value;
    fmt::print("{}={}: ", name, value);
    Report(workloads, target, changed, false, false);
  }
  return 0;
}
