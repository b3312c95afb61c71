// One suite for every store.
#include "db/record_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/file.h"
#include "db/memory_store.h"
#include "db/sqlite_store.h"
#include "tests/db/make_record.h"

namespace temper::db {
namespace {

enum class Kind { kMemory, kSqlite };

class RecordStoreTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kMemory) {
      store_ = std::make_unique<MemoryStore>();
      return;
    }
    SqliteOptions options;
    options.create = true;
    auto store = OpenSqliteStore(dir_.File("tuning.db"), options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
  }

  void Put(std::vector<Record> records) {
    Status status = store_->Put(records);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  std::vector<Record> All(const RecordFilter& filter = {}) {
    std::vector<Record> records;
    EXPECT_TRUE(store_
                    ->ForEach(filter,
                              [&](const Record& r) {
                                records.push_back(r);
                                return true;
                              })
                    .ok());
    return records;
  }

  ScopedTempDir dir_ = *ScopedTempDir::Create("temper_db_test.");
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Stores, RecordStoreTest, testing::Values(Kind::kMemory, Kind::kSqlite),
                         [](const auto& info) {
                           return info.param == Kind::kMemory ? "Memory" : "Sqlite";
                         });

TEST_P(RecordStoreTest, EveryFieldComesBack) {
  Record ok = MakeRecord(1, 1, 10), failed = MakeRecord(1, 2, 0);
  ok.drift = 1.07;
  ok.task_name = "caf\xc3\xa9";
  Put({ok, failed});
  EXPECT_EQ(All(), (std::vector<Record>{ok, failed}));
  auto best = store_->Best(ok.key);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(*best, ok);
}

TEST_P(RecordStoreTest, AnEmptyStoreHasNothing) {
  EXPECT_EQ(*store_->Best(MakeKey(1)), std::nullopt);
  EXPECT_TRUE(store_->TopK(MakeKey(1), 5)->empty());
  EXPECT_TRUE(store_->Tried(MakeKey(1))->empty());
  EXPECT_TRUE(store_->Summaries({})->empty());
  EXPECT_TRUE(All().empty());
  EXPECT_EQ(store_->Stats()->records, 0);
  EXPECT_TRUE(store_->Put({}).ok());
}

TEST_P(RecordStoreTest, FastestFirstWithDriftTakenOut) {
  Record slow = MakeRecord(1, 1, 30), fast = MakeRecord(1, 2, 20), drifted = MakeRecord(1, 3, 24);
  drifted.drift = 1.5;  // 16 on an undisturbed core
  Put({slow, fast, drifted, MakeRecord(1, 4, 0)});
  EXPECT_EQ(*store_->TopK(slow.key, 2), (std::vector<Record>{drifted, fast}));
  EXPECT_EQ(store_->TopK(slow.key, 10)->size(), 3u) << "only ok ones";
  EXPECT_TRUE(store_->TopK(slow.key, 0)->empty());
}

TEST_P(RecordStoreTest, EqualTimesHaveAFixedOrder) {
  Record a = MakeRecord(1, 1, 10), b = MakeRecord(1, 2, 10);
  if (b.schedule_hash < a.schedule_hash) std::swap(a, b);
  Put({b, a});
  EXPECT_EQ(*store_->TopK(a.key, 2), (std::vector<Record>{a, b}));
}

TEST_P(RecordStoreTest, AnyOtherKeyIsAMiss) {
  Put({MakeRecord(1, 1, 10)});
  EXPECT_TRUE(store_->Best(MakeKey(1))->has_value());
  EXPECT_EQ(*store_->Best(MakeKey(2)), std::nullopt);
  EXPECT_EQ(*store_->Best(MakeKey(1, "fingerprint2")), std::nullopt);
  EXPECT_EQ(*store_->Best(MakeKey(1, "fingerprint1", 2)), std::nullopt);
  EXPECT_EQ(*store_->Best(MakeKey(1, "fingerprint1", 1, "fast")), std::nullopt);
}

TEST_P(RecordStoreTest, PuttingTwiceIsHarmless) {
  Put({MakeRecord(1, 1, 10)});
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 1, 10)});
  EXPECT_EQ(store_->Stats()->records, 1);
}

TEST_P(RecordStoreTest, ANewMeasurementReplacesTheOld) {
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 2, 11)});
  Put({MakeRecord(1, 1, 12)});
  EXPECT_EQ((*store_->Best(MakeKey(1)))->median_us, 11);
  Record lost = MakeRecord(1, 2, 0);
  lost.outcome = Outcome::kInfrastructure;
  Put({lost});
  EXPECT_EQ((*store_->Best(MakeKey(1)))->median_us, 11) << "a lost worker says nothing";
  Put({MakeRecord(1, 2, 0)});
  EXPECT_EQ((*store_->Best(MakeKey(1)))->median_us, 12) << "a crash does";
}

TEST_P(RecordStoreTest, MergeNeverOverwritesBetterRecords) {
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 2, 20), MakeRecord(1, 3, 0)});
  std::vector<Record> incoming = {MakeRecord(1, 1, 15), MakeRecord(1, 2, 15), MakeRecord(1, 3, 5),
                                  MakeRecord(1, 4, 40)};
  auto counts = store_->Merge(incoming);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->added, 1);
  EXPECT_EQ(counts->replaced, 1);
  EXPECT_EQ(counts->kept, 2);
  std::vector<double> times;
  for (const Record& r : *store_->TopK(MakeKey(1), 10)) times.push_back(r.median_us);
  EXPECT_EQ(times, (std::vector<double>{10, 15, 40}));
}

TEST_P(RecordStoreTest, ABadRecordStoresNothingOfItsBatch) {
  Record bad = MakeRecord(1, 2, 10);
  bad.workload_text = "another";
  Status status = store_->Put(std::vector<Record>{MakeRecord(1, 1, 10), bad});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "record 2: the workload's hash is not that of its text");
  EXPECT_FALSE(store_->Merge(std::vector<Record>{MakeRecord(1, 1, 10), bad}).ok());
  EXPECT_EQ(store_->Stats()->records, 0);
}

TEST_P(RecordStoreTest, TriedIsWhatIsConclusive) {
  Record noisy = MakeRecord(1, 3, 0);
  noisy.outcome = Outcome::kTooNoisy;
  Record elsewhere = MakeRecord(1, 4, 10, "fingerprint2");
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 2, 0), noisy, elsewhere});
  auto tried = store_->Tried(MakeKey(1));
  ASSERT_TRUE(tried.ok());
  EXPECT_EQ(*tried, (std::unordered_set<Hash>{Sha256("schedule 1"), Sha256("schedule 2")}));
}

TEST_P(RecordStoreTest, SimilarIsTheSameMicroArchitectureElsewhere) {
  Record other = MakeRecord(1, 5, 5, "fingerprint2");
  Record other_slow = MakeRecord(1, 6, 7, "fingerprint3");
  Record foreign = MakeRecord(1, 7, 1, "fingerprint4");
  foreign.micro_architecture = "x86-64 haswell";
  Put({MakeRecord(1, 1, 10), other_slow, other, foreign, MakeRecord(2, 8, 1, "fingerprint2"),
       MakeRecord(1, 9, 0, "fingerprint2")});
  auto similar = store_->Similar(MakeKey(1), "x86-64 znver4", 10);
  ASSERT_TRUE(similar.ok());
  EXPECT_EQ(*similar, (std::vector<Record>{other, other_slow}));
  EXPECT_EQ(store_->Similar(MakeKey(1), "x86-64 znver4", 1)->size(), 1u);
  EXPECT_TRUE(store_->Similar(MakeKey(1), "x86-64 skylake", 9)->empty());
}

TEST_P(RecordStoreTest, WarmAndColdTimesOfAScheduleAreKeptApart) {
  const Record cold = MakeRecord(1, 1, 10), slower = MakeRecord(1, 2, 12);
  Record warm = cold, failed = MakeRecord(1, 2, 0), elsewhere = MakeRecord(1, 3, 1, "fingerprint2");
  warm.key.constants = failed.key.constants = elsewhere.key.constants = Constants::kWarm;
  warm.median_us = 7;
  Put({cold, slower, warm, failed, elsewhere});
  EXPECT_EQ(*store_->TopK(cold.key, 9), (std::vector<Record>{cold, slower}));
  EXPECT_EQ(*store_->TopK(warm.key, 9), (std::vector<Record>{warm}));
  EXPECT_EQ(store_->Tried(cold.key)->size(), 2u);
  EXPECT_EQ(store_->Tried(warm.key)->size(), 2u) << "the failed one too";
  EXPECT_TRUE(store_->Similar(cold.key, "x86-64 znver4", 9)->empty());
  EXPECT_EQ(*store_->Similar(warm.key, "x86-64 znver4", 9), (std::vector<Record>{elsewhere}));
  EXPECT_EQ(All({.constants = Constants::kWarm}).size(), 3u);
  EXPECT_EQ(All({.constants = Constants::kCold}), (std::vector<Record>{cold, slower}));
  auto summaries = store_->Summaries({.target = "fingerprint1"});
  ASSERT_EQ(summaries->size(), 2u);
  EXPECT_EQ((*summaries)[0].key, cold.key);
  EXPECT_EQ((*summaries)[1].key, warm.key);
  EXPECT_EQ((*summaries)[1].trials, 2);
  EXPECT_EQ((*summaries)[1].best, warm);
  // A faster import of the one is no better than the other.
  Record faster = warm;
  faster.median_us = 5;
  auto counts = store_->Merge(std::vector<Record>{faster});
  EXPECT_EQ(counts->replaced, 1);
  EXPECT_EQ(*store_->Best(cold.key), cold);
}

TEST_P(RecordStoreTest, ForEachFiltersAndStops) {
  Record threads = MakeRecord(1, 3, 10);
  threads.key.threads = 2;
  Record numerics = MakeRecord(1, 4, 10);
  numerics.key.numerics = "fast";
  Record micro = MakeRecord(1, 5, 10, "fingerprint2");
  micro.micro_architecture = "x86-64 haswell";
  Put({MakeRecord(1, 1, 10), MakeRecord(2, 2, 0), threads, numerics, micro});
  EXPECT_EQ(All({.workload = MakeKey(2).workload}).size(), 1u);
  EXPECT_EQ(All({.target = "fingerprint1"}).size(), 4u);
  EXPECT_EQ(All({.micro_architecture = "x86-64 haswell"}).size(), 1u);
  EXPECT_EQ(All({.threads = 2}).size(), 1u);
  EXPECT_EQ(All({.numerics = "strict"}).size(), 4u);
  EXPECT_EQ(All({.workload = MakeKey(1).workload, .target = "fingerprint1", .threads = 1}).size(),
            2u);
  int seen = 0;
  EXPECT_TRUE(store_->ForEach({}, [&](const Record&) { return ++seen < 2; }).ok());
  EXPECT_EQ(seen, 2);
}

TEST_P(RecordStoreTest, ForEachReadsBeyondAPageAndMayUseTheStore) {
  std::vector<Record> records;
  for (int i = 0; i < 700; ++i) records.push_back(MakeRecord(i % 3, i, 10 + i));
  Put(records);
  size_t seen = 0;
  EXPECT_TRUE(store_
                  ->ForEach({},
                            [&](const Record& r) {
                              EXPECT_EQ(r, records[seen++]);
                              return store_->Best(r.key)->has_value();
                            })
                  .ok());
  EXPECT_EQ(seen, records.size());
}

TEST_P(RecordStoreTest, SummariesAreOneAKey) {
  Record best = MakeRecord(1, 2, 10);
  Put({MakeRecord(1, 1, 20), best, MakeRecord(1, 3, 0), MakeRecord(2, 4, 0),
       MakeRecord(1, 5, 30, "fingerprint2")});
  auto summaries = store_->Summaries({.target = "fingerprint1"});
  ASSERT_TRUE(summaries.ok());
  ASSERT_EQ(summaries->size(), 2u);
  EXPECT_LT((*summaries)[0].key, (*summaries)[1].key);
  size_t first = (*summaries)[0].key == MakeKey(1) ? 0 : 1;
  const KeySummary& tuned = (*summaries)[first];
  EXPECT_EQ(tuned.key, MakeKey(1));
  EXPECT_EQ(tuned.trials, 3);
  EXPECT_EQ(tuned.ok, 2);
  EXPECT_EQ(tuned.task_name, "task 1");
  EXPECT_EQ(tuned.micro_architecture, "x86-64 znver4");
  EXPECT_EQ(tuned.flops, 2e6);
  EXPECT_EQ(tuned.best, best);
  const KeySummary& failed = (*summaries)[1 - first];
  EXPECT_EQ(failed.trials, 1);
  EXPECT_EQ(failed.ok, 0);
  EXPECT_EQ(failed.best, std::nullopt);
  EXPECT_EQ(store_->Summaries({})->size(), 3u);
}

TEST_P(RecordStoreTest, StatsCount) {
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 2, 0), MakeRecord(2, 3, 10, "fingerprint2")});
  auto stats = store_->Stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->records, 3);
  EXPECT_EQ(stats->workloads, 2);
  EXPECT_EQ(stats->targets, 2);
  EXPECT_EQ(stats->outcomes[static_cast<size_t>(Outcome::kOk)], 2);
  EXPECT_EQ(stats->outcomes[static_cast<size_t>(Outcome::kCrashed)], 1);
}

TEST_P(RecordStoreTest, CheckOfASoundStoreFindsNothing) {
  Put({MakeRecord(1, 1, 10), MakeRecord(1, 2, 0)});
  auto report = store_->Check();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->records, 2);
  EXPECT_TRUE(report->problems.empty());
}

TEST_P(RecordStoreTest, ManyThreadsWriteAndReadAtOnce) {
  constexpr int kThreads = 4, kBatches = 20;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int b = 0; b < kBatches; ++b) {
        int schedule = t * kBatches + b;
        failures += !store_->Put(std::vector<Record>{MakeRecord(t, schedule, 100 + schedule)}).ok();
        auto tried = store_->Tried(MakeKey(t));
        failures += !tried.ok() || tried->size() != static_cast<size_t>(b + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store_->Stats()->records, kThreads * kBatches);
}

TEST_P(RecordStoreTest, OneBadWriterDoesNotHarmTheOthersOfItsCommit) {
  Job job{.id = "taken", .model = "m"};
  ASSERT_TRUE(store_->PutJob(job).ok());
  std::atomic<int> stored = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (t == 0) {
          refused += store_->PutJob(job).code() == Code::kAlreadyExists;
        } else {
          stored += store_->Put(std::vector<Record>{MakeRecord(t, t * 100 + i, 10)}).ok();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, 60);
  EXPECT_EQ(refused, 20);
  EXPECT_EQ(store_->Stats()->records, 60);
}

TEST_P(RecordStoreTest, JobsLive) {
  Job first{"job-1", "resnet18.onnx", JobState::kQueued, std::string("\0\xff", 2), "", "", 1000,
            1000};
  Job second{"job-2", "cls.onnx", JobState::kQueued, "tasks", "", "", 2000, 2000};
  ASSERT_TRUE(store_->PutJob(first).ok());
  ASSERT_TRUE(store_->PutJob(second).ok());
  EXPECT_EQ(store_->PutJob(first).code(), Code::kAlreadyExists);
  EXPECT_EQ(*store_->GetJob("job-1"), first);
  EXPECT_EQ(*store_->ListJobs(true), (std::vector<Job>{first, second}));

  ASSERT_TRUE(store_->UpdateJob("job-1", JobState::kDone, "64 trials", "", 3000).ok());
  first.state = JobState::kDone;
  first.progress = "64 trials";
  first.updated_ms = 3000;
  EXPECT_EQ(*store_->ListJobs(true), (std::vector<Job>{second}));
  EXPECT_EQ(*store_->ListJobs(false), (std::vector<Job>{first, second}));

  EXPECT_TRUE(store_->DeleteJob("job-1").ok());
  EXPECT_EQ(*store_->ListJobs(false), (std::vector<Job>{second}));
}

TEST_P(RecordStoreTest, ModelsOfATargetElseOfItsMicroArchitecture) {
  EXPECT_EQ(*store_->GetModel("t1", "zen5", 2), std::nullopt);
  StoredModel first{"t1", "zen5", 2, 300, 1000, std::string("\0trees", 6)};
  StoredModel other{"t2", "zen5", 2, 400, 2000, "more trees"};
  StoredModel old{"t1", "zen5", 1, 500, 3000, "old trees"};
  for (const StoredModel& m : {first, other, old}) ASSERT_TRUE(store_->PutModel(m).ok());
  EXPECT_EQ(*store_->GetModel("t1", "zen5", 2), first);
  EXPECT_EQ(*store_->GetModel("t2", "zen5", 2), other);
  EXPECT_EQ(*store_->GetModel("t3", "zen5", 2), other) << "the newest of a similar target";
  EXPECT_EQ(*store_->GetModel("t3", "zen4", 2), std::nullopt);
  EXPECT_EQ(*store_->GetModel("t1", "zen5", 1), old);
  EXPECT_EQ(*store_->GetModel("t1", "zen5", 3), std::nullopt);

  first.bytes = "better trees";
  first.programs = 900;
  ASSERT_TRUE(store_->PutModel(first).ok());
  EXPECT_EQ(*store_->GetModel("t1", "zen5", 2), first);
}

TEST_P(RecordStoreTest, ModelErrors) {
  EXPECT_EQ(store_->PutModel({"", "zen5", 2, 1, 1, "b"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->PutModel({"t", "zen5", 0, 1, 1, "b"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->PutModel({"t", "zen5", 2, 1, 1, ""}).code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->PutModel({"t", "zen5", 2, -1, 1, "b"}).code(), Code::kInvalidArgument);
}

TEST_P(RecordStoreTest, JobErrors) {
  EXPECT_EQ(store_->GetJob("x").status().code(), Code::kNotFound);
  EXPECT_EQ(store_->DeleteJob("x").code(), Code::kNotFound);
  EXPECT_EQ(store_->UpdateJob("x", JobState::kDone, "", "", 1).code(), Code::kNotFound);
  EXPECT_EQ(store_->PutJob({}).code(), Code::kInvalidArgument);
  Job job{.id = "x", .model = "\xff"};
  EXPECT_EQ(store_->PutJob(job).code(), Code::kInvalidArgument);
  EXPECT_EQ(JobStateName(JobState::kCancelled), "cancelled");
}

}  // namespace
}  // namespace temper::db
