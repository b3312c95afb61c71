// The record store: what tuning learned. Implementations: sqlite_store.h (one file on disk),
// memory_store.h. tests/db/record_store_test.cc is one suite for all of them.
//
// A record's identity is its key and schedule hash; at most one record of an identity is kept.
// Every method may be called from any thread at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "db/record.h"

namespace temper::db {

// Which records; an unset field means any.
struct RecordFilter {
  std::optional<Hash> workload = {};
  std::optional<std::string> target = {};
  std::optional<std::string> micro_architecture = {};
  std::optional<int32_t> threads = {};
  std::optional<std::string> numerics = {};
  std::optional<Constants> constants = {};

  bool Matches(const Record& record) const;
};

// What Merge did.
struct MergeCounts {
  int64_t added = 0;
  int64_t replaced = 0;
  int64_t kept = 0;  // the stored record was as good
};

// One line of `temper query`: everything known under one key.
struct KeySummary {
  RecordKey key;
  std::string task_name;
  std::string micro_architecture;
  double flops = 0;
  int64_t trials = 0;          // records of any outcome
  int64_t ok = 0;              // of outcome ok
  std::optional<Record> best;  // none if nothing is ok
};

struct StoreStats {
  int64_t records = 0;
  int64_t workloads = 0;
  int64_t targets = 0;
  int64_t outcomes[kOutcomeCount] = {};  // records by outcome
  int64_t bytes = 0;                     // on disk; 0 for a store in memory
  int schema_version = 0;                // 0 for a store in memory
};

// What Check found. An empty list of problems means all is well.
struct CheckReport {
  int64_t records = 0;
  std::vector<std::string> problems;  // at most 100
};

// Records that a damaged store holds and cannot give, whatever was asked for. Where the damage
// hides how many there were, as many as there may have been.
struct Losses {
  int64_t count = 0;
  int64_t first = 0, last = 0;  // their numbers, as `temper db check` names them

  void Add(int64_t number) {
    if (count++ == 0) first = number;
    last = number;
  }
};

class RecordStore {
 public:
  virtual ~RecordStore() = default;

  // Stores measurements, all or none; OK means that they are committed and survive a power cut. One
  // replaces the stored record of its identity as MeasurementReplaces says, so that putting twice
  // is harmless. INVALID_ARGUMENT names the first record that is not valid.
  virtual Status Put(std::span<const Record> records) = 0;

  // Stores records from elsewhere, all or none, by ImportReplaces: never over better ones.
  virtual Result<MergeCounts> Merge(std::span<const Record> records) = 0;

  // The ok records under `key`, fastest (RankUs) first, at most `count`.
  virtual Result<std::vector<Record>> TopK(const RecordKey& key, size_t count) = 0;

  // The fastest ok record under `key`, if there is one.
  Result<std::optional<Record>> Best(const RecordKey& key);

  // The ok records of `key`'s workload, threads, numerics and constants on *other* targets of that
  // micro-architecture, fastest first, at most `count`. Their times are those of another machine.
  virtual Result<std::vector<Record>> Similar(const RecordKey& key,
                                              const std::string& micro_architecture,
                                              size_t count) = 0;

  // Schedules under `key` whose outcome is conclusive: not worth another trial.
  virtual Result<std::unordered_set<Hash>> Tried(const RecordKey& key) = 0;

  // Hands every record of any outcome that matches to `visit`, oldest identity first, until it
  // returns false. Records put meanwhile may or may not be seen. `visit` may use the store.
  virtual Status ForEach(const RecordFilter& filter,
                         const std::function<bool(const Record&)>& visit) = 0;

  // ForEach that goes on past what is damaged, and says what it could not read.
  virtual Result<Losses> Salvage(const RecordFilter& filter,
                                 const std::function<bool(const Record&)>& visit) = 0;

  // One summary a key that has matching records, in the order of the keys.
  virtual Result<std::vector<KeySummary>> Summaries(const RecordFilter& filter) = 0;

  virtual Result<StoreStats> Stats() = 0;

  // Verifies the whole store: its structure and every record's checksum.
  virtual Result<CheckReport> Check() = 0;
};

}  // namespace temper::db
