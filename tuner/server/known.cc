#include "tuner/server/known.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "compiler/schedule/text.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "tuner/search/transfer.h"

namespace temper::tuner {
namespace {

constexpr size_t kMaxKnown = 50000;   // results of earlier runs that a search starts with
constexpr size_t kMaxOthers = 24;     // other workloads that the cost model learns from
constexpr size_t kMaxRead = 4000;     // results of each that are looked at
constexpr size_t kBestOfOther = 16;   // of those that are kept, the fastest
constexpr size_t kMaxOfOther = 56;    // results of each, the others spread over all times
constexpr double kOtherFamily = 100;  // how far workloads of different families are apart

// What a record says of its schedule; nothing where a later version cannot read it.
std::optional<Measured> ReadResult(const db::Record& record, const Hash& workload) {
  auto schedule = schedule::ParseText(record.schedule);
  if (!schedule.ok() || schedule->workload != workload) return std::nullopt;
  Measured m;
  m.schedule = std::move(*schedule);
  m.outcome = record.outcome;
  m.us = record.outcome == Outcome::kOk ? record.RankUs() : 0;
  return m;
}

// Another workload's key, and how far it is from the nearest of the job's: the logarithm of the
// ratio of their arithmetic, and much more where they are of different families.
struct Other {
  db::RecordKey key;
  std::string text;
  double distance = 0;
};

double Distance(const Job& job, const std::vector<std::string>& families, const db::Record& other) {
  std::string family = FamilyOf(other.workload_text);
  double nearest = 1e9;
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    double ratio = (job.tasks[i].flops + 1) / (other.flops + 1);
    double distance = std::abs(std::log(ratio)) + (family == families[i] ? 0 : kOtherFamily);
    nearest = std::min(nearest, distance);
  }
  return nearest;
}

// The fastest, and others at equal steps of rank to the slowest and those that failed.
std::vector<Measured> Spread(std::vector<Measured> results) {
  auto time = [](const Measured& m) { return m.outcome == Outcome::kOk ? m.us : 1e30; };
  std::stable_sort(results.begin(), results.end(),
                   [&](const Measured& a, const Measured& b) { return time(a) < time(b); });
  if (results.size() <= kMaxOfOther) return results;
  std::vector<Measured> kept;
  size_t rest = results.size() - kBestOfOther, wanted = kMaxOfOther - kBestOfOther;
  for (size_t i = 0; i < kMaxOfOther; ++i) {
    size_t at =
        i < kBestOfOther ? i : kBestOfOther + (i - kBestOfOther) * (rest - 1) / (wanted - 1);
    kept.push_back(std::move(results[at]));
  }
  return kept;
}

}  // namespace

Result<std::vector<Measured>> KnownResults(const Job& job, db::RecordStore& store) {
  std::vector<Measured> known;
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    db::RecordFilter filter;
    filter.workload = job.tasks[i].hash;
    filter.target = job.fingerprint;
    filter.threads = job.request.threads();
    filter.constants = job.tasks[i].constants;
    TEMPER_RETURN_IF_ERROR(store.ForEach(filter, [&](const db::Record& record) {
      auto m = ReadResult(record, job.tasks[i].hash);
      if (!m || te::NumericsOf(m->schedule.alternative) > job.numerics) return true;
      m->task = static_cast<int>(i);
      known.push_back(std::move(*m));
      return known.size() < kMaxKnown;
    }));
  }
  return known;
}

Result<std::vector<KnownTask>> KnownOthers(const Job& job, db::RecordStore& store) {
  std::set<std::pair<Hash, Constants>> own;
  std::vector<std::string> families;
  for (const JobTask& task : job.tasks) {
    own.emplace(task.hash, task.constants);
    families.push_back(FamilyOf(task.text));
  }
  db::RecordFilter filter;
  filter.micro_architecture = MicroArchitecture(job.target);
  filter.threads = job.request.threads();
  TEMPER_ASSIGN_OR_RETURN(std::vector<db::KeySummary> summaries, store.Summaries(filter));
  // Of a workload that several targets measured, the job's own target's results.
  std::map<std::pair<Hash, Constants>, Other> others;
  for (const db::KeySummary& summary : summaries) {
    const std::pair task(summary.key.workload, summary.key.constants);
    if (!summary.best || own.count(task) > 0) continue;
    auto known = others.find(task);
    if (known != others.end() && summary.key.target != job.fingerprint) continue;
    others[task] = {summary.key, summary.best->workload_text,
                    Distance(job, families, *summary.best)};
  }
  std::vector<Other> nearest;
  for (auto& entry : others) nearest.push_back(std::move(entry.second));
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const Other& a, const Other& b) { return a.distance < b.distance; });
  std::vector<KnownTask> known;
  for (const Other& other : nearest) {
    if (known.size() == kMaxOthers) break;
    auto program = te::ParseProgram(other.text);
    if (!program.ok()) continue;  // of a later version
    KnownTask task;
    task.program = te::Canonicalize(*program);
    filter.workload = other.key.workload;
    filter.target = other.key.target;
    filter.constants = task.constants = other.key.constants;
    std::vector<Measured> results;
    TEMPER_RETURN_IF_ERROR(store.ForEach(filter, [&](const db::Record& record) {
      auto m = ReadResult(record, other.key.workload);
      if (m) results.push_back(std::move(*m));
      return results.size() < kMaxRead;
    }));
    task.results = Spread(std::move(results));
    if (!task.results.empty()) known.push_back(std::move(task));
  }
  return known;
}

}  // namespace temper::tuner
