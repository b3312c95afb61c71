// What the tuning database costs: storing a batch of 64 trials, and looking up the best of 100,000
// records. Run on the kind of disk the database will lie on (TMPDIR names it).
#include <benchmark/benchmark.h>

#include <memory>

#include "base/file.h"
#include "base/rng.h"
#include "db/sqlite_store.h"

namespace temper::db {
namespace {

constexpr int kWorkloads = 50;
constexpr int kRecords = 100'000;

// As large as real ones are.
Record MakeRecord(int workload, int schedule, Rng& rng) {
  Record r;
  r.workload_text = "workload " + std::to_string(workload) + std::string(1500, 'w');
  r.key = {Sha256(r.workload_text), "0123456789abcdef", 1, "strict"};
  r.schedule = "schedule " + std::to_string(schedule) + std::string(600, 's');
  r.schedule_hash = Sha256(r.schedule);
  r.micro_architecture = "x86_64 znver4";
  r.target_text = std::string(300, 't');
  r.median_us = 10 + 1000 * rng.Uniform01();
  for (int i = 0; i < 12; ++i) r.samples.push_back(static_cast<float>(r.median_us));
  r.flops = 1e8;
  return r;
}

struct Fixture {
  ScopedTempDir dir;
  std::unique_ptr<Store> store;
  int next_schedule = 0;
  Rng rng{1};

  std::vector<Record> Batch(int count) {
    std::vector<Record> batch;
    for (int i = 0; i < count; ++i, ++next_schedule) {
      batch.push_back(MakeRecord(next_schedule % kWorkloads, next_schedule, rng));
    }
    return batch;
  }
};

Fixture& FullStore() {
  static Fixture* fixture = [] {
    SqliteOptions options;
    options.create = true;
    auto dir = ScopedTempDir::Create("temper_db_bench.");
    TEMPER_CHECK(dir.ok());
    auto store = OpenSqliteStore(dir->File("tuning.db"), options);
    TEMPER_CHECK(store.ok());
    auto* made = new Fixture{std::move(*dir), std::move(*store)};
    while (made->next_schedule < kRecords) {
      TEMPER_CHECK(made->store->Put(made->Batch(5000)).ok());
    }
    return made;
  }();
  return *fixture;
}

void BM_Put64(benchmark::State& state) {
  Fixture& fixture = FullStore();
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Record> batch = fixture.Batch(64);
    state.ResumeTiming();
    TEMPER_CHECK(fixture.store->Put(batch).ok());
  }
}
BENCHMARK(BM_Put64)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_Best(benchmark::State& state) {
  Fixture& fixture = FullStore();
  RecordKey key = fixture.Batch(1)[0].key;
  for (auto _ : state) {
    auto best = fixture.store->Best(key);
    TEMPER_CHECK(best.ok() && best->has_value());
  }
}
BENCHMARK(BM_Best)->Unit(benchmark::kMicrosecond);

void BM_Tried(benchmark::State& state) {
  Fixture& fixture = FullStore();
  RecordKey key = fixture.Batch(1)[0].key;
  for (auto _ : state) TEMPER_CHECK(fixture.store->Tried(key)->size() >= 1000);
}
BENCHMARK(BM_Tried)->Unit(benchmark::kMicrosecond);

void BM_ForEachOfAWorkload(benchmark::State& state) {
  Fixture& fixture = FullStore();
  RecordFilter filter{.workload = fixture.Batch(1)[0].key.workload};
  int64_t seen = 0;
  for (auto _ : state) {
    Status status = fixture.store->ForEach(filter, [&](const Record&) { return ++seen > 0; });
    TEMPER_CHECK(status.ok());
  }
  state.SetItemsProcessed(seen);
}
BENCHMARK(BM_ForEachOfAWorkload)->Unit(benchmark::kMillisecond);

void BM_Summaries(benchmark::State& state) {
  Fixture& fixture = FullStore();
  for (auto _ : state) {
    TEMPER_CHECK(fixture.store->Summaries({})->size() == static_cast<size_t>(kWorkloads));
  }
}
BENCHMARK(BM_Summaries)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace temper::db

BENCHMARK_MAIN();
