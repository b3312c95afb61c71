// A store in memory: for tests, and for tuning without a database. Nothing outlives it.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "db/store.h"

namespace temper::db {

class MemoryStore : public Store {
 public:
  Status Put(std::span<const Record> records) override;
  Result<MergeCounts> Merge(std::span<const Record> records) override;
  Result<std::vector<Record>> TopK(const RecordKey& key, size_t count) override;
  Result<std::vector<Record>> Similar(const RecordKey& key, const std::string& micro_architecture,
                                      size_t count) override;
  Result<std::unordered_set<Hash>> Tried(const RecordKey& key) override;
  Status ForEach(const RecordFilter& filter,
                 const std::function<bool(const Record&)>& visit) override;
  Result<Losses> Salvage(const RecordFilter& filter,
                         const std::function<bool(const Record&)>& visit) override {
    TEMPER_RETURN_IF_ERROR(ForEach(filter, visit));
    return Losses();
  }
  Result<std::vector<KeySummary>> Summaries(const RecordFilter& filter) override;
  Result<StoreStats> Stats() override;
  Result<CheckReport> Check() override;

  Status PutJob(const Job& job) override;
  Status UpdateJob(const std::string& id, JobState state, const std::string& progress,
                   const std::string& message, int64_t updated_ms) override;
  Result<Job> GetJob(const std::string& id) override;
  Result<std::vector<Job>> ListJobs(bool unfinished_only) override;
  Status DeleteJob(const std::string& id) override;

  Status PutModel(const StoredModel& model) override;
  Result<std::optional<StoredModel>> GetModel(const std::string& target,
                                              const std::string& micro_architecture,
                                              int32_t features_version) override;

 private:
  using OfKey = std::unordered_map<Hash, size_t>;  // schedule hash -> index in records_

  // The ok records of `indices`, fastest first, at most `count`. REQUIRES: mutex_ is held.
  std::vector<Record> Fastest(std::vector<size_t> indices, size_t count) const;
  std::vector<Job>::iterator FindJob(const std::string& id);

  std::mutex mutex_;
  std::vector<Record> records_;  // by the age of their identity
  std::map<RecordKey, OfKey> index_;
  std::vector<Job> jobs_;
  std::vector<StoredModel> models_;  // oldest first
};

}  // namespace temper::db
