#include "db/memory_store.h"

#include <algorithm>
#include <set>

namespace temper::db {
namespace {

Status ValidateAll(std::span<const Record> records) {
  for (size_t i = 0; i < records.size(); ++i) {
    TEMPER_RETURN_IF_ERROR(
        ValidateRecord(records[i]).WithContext("record " + std::to_string(i + 1)));
  }
  return OkStatus();
}

Status NoJob(const std::string& id) { return NotFound("there is no job " + id); }

}  // namespace

Status MemoryStore::Put(std::span<const Record> records) {
  TEMPER_RETURN_IF_ERROR(ValidateAll(records));
  std::lock_guard lock(mutex_);
  for (const Record& record : records) {
    auto [at, added] = index_[record.key].try_emplace(record.schedule_hash, records_.size());
    if (added) {
      records_.push_back(record);
    } else if (MeasurementReplaces(record.outcome, records_[at->second].outcome)) {
      records_[at->second] = record;
    }
  }
  return OkStatus();
}

Result<MergeCounts> MemoryStore::Merge(std::span<const Record> records) {
  TEMPER_RETURN_IF_ERROR(ValidateAll(records));
  std::lock_guard lock(mutex_);
  MergeCounts counts;
  for (const Record& record : records) {
    auto [at, added] = index_[record.key].try_emplace(record.schedule_hash, records_.size());
    if (added) {
      records_.push_back(record);
      ++counts.added;
      continue;
    }
    Record& stored = records_[at->second];
    if (ImportReplaces(record.outcome, record.RankUs(), stored.outcome, stored.RankUs())) {
      stored = record;
      ++counts.replaced;
    } else {
      ++counts.kept;
    }
  }
  return counts;
}

std::vector<Record> MemoryStore::Fastest(std::vector<size_t> indices, size_t count) const {
  std::erase_if(indices, [&](size_t i) { return records_[i].outcome != Outcome::kOk; });
  auto faster = [&](size_t a, size_t b) {
    double time_a = records_[a].RankUs(), time_b = records_[b].RankUs();
    return time_a != time_b ? time_a < time_b
                            : records_[a].schedule_hash < records_[b].schedule_hash;
  };
  std::sort(indices.begin(), indices.end(), faster);
  if (indices.size() > count) indices.resize(count);
  std::vector<Record> result;
  result.reserve(indices.size());
  for (size_t i : indices) result.push_back(records_[i]);
  return result;
}

Result<std::vector<Record>> MemoryStore::TopK(const RecordKey& key, size_t count) {
  std::lock_guard lock(mutex_);
  std::vector<size_t> indices;
  auto found = index_.find(key);
  if (found != index_.end()) {
    for (const auto& [hash, i] : found->second) indices.push_back(i);
  }
  return Fastest(std::move(indices), count);
}

Result<std::vector<Record>> MemoryStore::Similar(const RecordKey& key,
                                                 const std::string& micro_architecture,
                                                 size_t count) {
  RecordFilter filter{key.workload, std::nullopt, micro_architecture,
                      key.threads,  key.numerics, key.constants};
  std::lock_guard lock(mutex_);
  std::vector<size_t> indices;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (filter.Matches(records_[i]) && records_[i].key.target != key.target) indices.push_back(i);
  }
  return Fastest(std::move(indices), count);
}

Result<std::unordered_set<Hash>> MemoryStore::Tried(const RecordKey& key) {
  std::lock_guard lock(mutex_);
  std::unordered_set<Hash> tried;
  auto found = index_.find(key);
  if (found == index_.end()) return tried;
  for (const auto& [hash, i] : found->second) {
    if (IsConclusive(records_[i].outcome)) tried.insert(hash);
  }
  return tried;
}

Status MemoryStore::ForEach(const RecordFilter& filter,
                            const std::function<bool(const Record&)>& visit) {
  for (size_t i = 0;; ++i) {
    Record record;
    {
      std::lock_guard lock(mutex_);
      while (i < records_.size() && !filter.Matches(records_[i])) ++i;
      if (i >= records_.size()) return OkStatus();
      record = records_[i];
    }
    if (!visit(record)) return OkStatus();
  }
}

Result<std::vector<KeySummary>> MemoryStore::Summaries(const RecordFilter& filter) {
  std::lock_guard lock(mutex_);
  std::vector<KeySummary> summaries;
  for (const auto& [key, schedules] : index_) {
    KeySummary summary;
    summary.key = key;
    std::vector<size_t> indices;
    size_t newest = 0;
    for (const auto& [hash, i] : schedules) {
      if (!filter.Matches(records_[i])) continue;
      indices.push_back(i);
      newest = std::max(newest, i);
      summary.ok += records_[i].outcome == Outcome::kOk;
    }
    if (indices.empty()) continue;
    summary.trials = static_cast<int64_t>(indices.size());
    summary.task_name = records_[newest].task_name;
    summary.micro_architecture = records_[newest].micro_architecture;
    summary.flops = records_[newest].flops;
    std::vector<Record> best = Fastest(std::move(indices), 1);
    if (!best.empty()) summary.best = std::move(best[0]);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Result<StoreStats> MemoryStore::Stats() {
  std::lock_guard lock(mutex_);
  StoreStats stats;
  std::set<Hash> workloads;
  std::set<std::string> targets;
  for (const Record& record : records_) {
    ++stats.records;
    ++stats.outcomes[static_cast<size_t>(record.outcome)];
    workloads.insert(record.key.workload);
    targets.insert(record.key.target);
  }
  stats.workloads = static_cast<int64_t>(workloads.size());
  stats.targets = static_cast<int64_t>(targets.size());
  return stats;
}

Result<CheckReport> MemoryStore::Check() {
  std::lock_guard lock(mutex_);
  CheckReport report;
  report.records = static_cast<int64_t>(records_.size());
  return report;
}

std::vector<Job>::iterator MemoryStore::FindJob(const std::string& id) {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.id == id; });
}

Status MemoryStore::PutJob(const Job& job) {
  TEMPER_RETURN_IF_ERROR(ValidateJob(job));
  std::lock_guard lock(mutex_);
  if (FindJob(job.id) != jobs_.end()) {
    return AlreadyExists("there is a job " + job.id + " already");
  }
  jobs_.push_back(job);
  return OkStatus();
}

Status MemoryStore::UpdateJob(const std::string& id, JobState state, const std::string& progress,
                              const std::string& message, int64_t updated_ms) {
  std::lock_guard lock(mutex_);
  auto found = FindJob(id);
  if (found == jobs_.end()) return NoJob(id);
  Job updated = *found;
  updated.state = state;
  updated.progress = progress;
  updated.message = message;
  updated.updated_ms = updated_ms;
  TEMPER_RETURN_IF_ERROR(ValidateJob(updated));
  *found = std::move(updated);
  return OkStatus();
}

Result<Job> MemoryStore::GetJob(const std::string& id) {
  std::lock_guard lock(mutex_);
  auto found = FindJob(id);
  if (found == jobs_.end()) return NoJob(id);
  return *found;
}

Result<std::vector<Job>> MemoryStore::ListJobs(bool unfinished_only) {
  std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  for (const Job& job : jobs_) {
    if (!unfinished_only || !IsFinished(job.state)) jobs.push_back(job);
  }
  return jobs;
}

Status MemoryStore::DeleteJob(const std::string& id) {
  std::lock_guard lock(mutex_);
  auto found = FindJob(id);
  if (found == jobs_.end()) return NoJob(id);
  jobs_.erase(found);
  return OkStatus();
}

Status MemoryStore::PutModel(const StoredModel& model) {
  TEMPER_RETURN_IF_ERROR(ValidateModel(model));
  std::lock_guard lock(mutex_);
  std::erase_if(models_, [&](const StoredModel& m) {
    return m.target == model.target && m.features_version == model.features_version;
  });
  models_.push_back(model);
  return OkStatus();
}

Result<std::optional<StoredModel>> MemoryStore::GetModel(const std::string& target,
                                                         const std::string& micro_architecture,
                                                         int32_t features_version) {
  std::lock_guard lock(mutex_);
  std::optional<StoredModel> found;
  for (const StoredModel& m : models_) {
    if (m.features_version != features_version) continue;
    if (m.target == target) return std::optional(m);
    if (m.micro_architecture == micro_architecture) found = m;
  }
  return found;
}

}  // namespace temper::db
