// The server without its network, with a search that proposes a fixed list and a clock that the
// test moves.
#include "tuner/server/service.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_target.h"
#include "costmodel/cost_model.h"
#include "db/memory_store.h"
#include "tests/support/programs.h"
#include "tuner/server/grpc_server.h"

namespace temper::tuner {
namespace {

using temper::testing::MatmulBiasRelu;

// What the cost model saves after a little training.
std::string SealedModel() {
  auto model = costmodel::MakeBoostedModel({});
  std::vector<costmodel::Sample> samples(64);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].features.stores.resize(1);
    samples[i].features.prior_us = 10;
    samples[i].us = 10 + static_cast<double>(i);
  }
  EXPECT_TRUE(model->Update(samples).ok());
  EXPECT_TRUE(model->Train().ok());
  return model->Save();
}

// Proposes `limit` schedules that differ in their alternative only, and remembers what it saw.
struct FakeSearch {
  int proposed = 0;
  int limit = 20;
  std::vector<Measured> seen;
  std::vector<Measured> known;
  int abandoned = 0;
  Budget budget;
  double elapsed = 0;  // that it tells, and whether the rest is the final round's
  bool search_time_over = false;
  std::string model;         // that it saves
  std::string loaded_model;  // that it was given
  std::vector<KnownTask> known_tasks;
};

class FakeTuner final : public JobTuner {
 public:
  FakeTuner(FakeSearch* search, std::vector<TunerTask> tasks, const Target& target)
      : search_(search), tasks_(std::move(tasks)), target_(target) {}
  std::vector<Candidate> Propose(int n) override {
    std::vector<Candidate> candidates;
    for (; n > 0 && search_->proposed < search_->limit; --n) {
      Candidate c;
      c.task = search_->proposed % static_cast<int>(tasks_.size());
      c.schedule = lower::ReferenceSchedule(tasks_[static_cast<size_t>(c.task)].program, target_);
      c.schedule.workload = te::WorkloadHash(tasks_[static_cast<size_t>(c.task)].program);
      c.schedule.threads = 1;
      // Distinct, and of no consequence to the server.
      c.schedule.alternative = search_->proposed;
      ++search_->proposed;
      candidates.push_back(c);
    }
    return candidates;
  }
  void Observe(std::span<const Measured> results) override {
    search_->seen.insert(search_->seen.end(), results.begin(), results.end());
  }
  void Abandon(const Candidate&) override { ++search_->abandoned; }
  bool Done() const override {
    return static_cast<int>(search_->seen.size()) + search_->abandoned >= search_->limit;
  }
  TunerState Snapshot() const override {
    TunerState state;
    state.tasks.resize(tasks_.size());
    state.elapsed_seconds = search_->elapsed;
    state.search_time_over = search_->search_time_over;
    state.learned = static_cast<int64_t>(search_->seen.size());
    return state;
  }
  std::string SaveModel() const override { return search_->model; }

 private:
  FakeSearch* search_;
  std::vector<TunerTask> tasks_;
  Target target_;
};

// A store whose writes can fail.
class FlakyStore final : public db::MemoryStore {
 public:
  Status Put(std::span<const db::Record> records) override {
    if (broken) return Unavailable("the disk is full");
    return MemoryStore::Put(records);
  }
  bool broken = false;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() { Restart(); }

  void Restart() {
    service_.reset();
    TunerFactory factory = [this](std::vector<TunerTask> tasks, const Target& target,
                                  TunerOptions options, std::span<const Measured> known,
                                  const Clock*) -> Result<std::unique_ptr<JobTuner>> {
      search_.proposed = 0;  // a new search starts afresh
      search_.seen.clear();
      search_.known.assign(known.begin(), known.end());
      search_.budget = options.budget;
      search_.loaded_model = options.model;
      search_.known_tasks = options.known_tasks;
      return std::unique_ptr<JobTuner>(
          std::make_unique<FakeTuner>(&search_, std::move(tasks), target));
    };
    service_ =
        std::make_unique<TuningService>(ServiceOptions{}, &store_, &clock_, factory, Logger());
    ASSERT_TRUE(service_->Resume().ok());
  }

  uint64_t RegisterWorker(const std::string& name = "w") {
    proto::RegisterRequest request;
    request.set_protocol(1);
    request.set_name(name);
    *request.mutable_target() = wire::ToProto(target_);
    request.set_threads(1);
    request.set_control_gflops(100);
    auto reply = service_->Register(request);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? reply->worker() : 0;
  }

  proto::SubmitJobRequest JobRequest() {
    proto::SubmitJobRequest request;
    request.set_model("model");
    request.set_threads(1);
    request.set_trials(20);
    request.set_request_id("once");
    for (int64_t n : {16, 32}) {
      auto* task = request.add_tasks();
      task->set_name("matmul " + std::to_string(n));
      task->set_weight(1);
      *task->mutable_workload() = wire::ToProto(te::Canonicalize(MatmulBiasRelu(n, n, n)));
    }
    return request;
  }

  std::string Submit() {
    auto reply = service_->SubmitJob(JobRequest());
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? reply->job() : "";
  }

  void Search() {
    for (int i = 0; i < 50 && service_->SearchOnce(); ++i) {
    }
  }

  proto::JobStatus Watch(const std::string& job) {
    proto::WatchJobRequest request;
    request.set_job(job);
    auto status = service_->WatchJob(request);
    EXPECT_TRUE(status.ok()) << status.status().ToString();
    return status.ok() ? *status : proto::JobStatus();
  }

  Result<proto::SynchronizeReply> Sync(uint64_t worker, int want,
                                       const std::vector<proto::CandidateResult>& results = {},
                                       uint64_t done = 0) {
    proto::SynchronizeRequest request;
    request.set_worker(worker);
    request.set_want(want);
    request.set_done(done);
    for (const auto& result : results) *request.add_results() = result;
    return service_->Synchronize(request);
  }

  static std::vector<proto::CandidateSpec> Specs(const proto::SynchronizeReply& reply) {
    std::vector<proto::CandidateSpec> specs;
    for (const auto& lease : reply.leases()) {
      specs.insert(specs.end(), lease.candidates().begin(), lease.candidates().end());
    }
    return specs;
  }

  static proto::CandidateResult Ok(const proto::CandidateSpec& spec, double us = 100) {
    proto::CandidateResult result;
    result.set_unit(spec.unit());
    result.set_epoch(spec.epoch());
    result.set_outcome(proto::OUTCOME_OK);
    result.set_median_us(us);
    result.add_samples(static_cast<float>(us));
    result.set_drift(1);
    return result;
  }

  int64_t Records() { return store_.Stats()->records; }

  FakeClock clock_;
  FlakyStore store_;
  FakeSearch search_;
  Target target_ = DetectTarget();
  std::unique_ptr<TuningService> service_;
};

TEST_F(ServiceTest, AWorkloadThatNoWorkerCanHoldIsRefusedByName) {
  proto::SubmitJobRequest request = JobRequest();
  request.mutable_tasks(1)->set_name("vast");
  *request.mutable_tasks(1)->mutable_workload() =
      wire::ToProto(te::Canonicalize(MatmulBiasRelu(1 << 16, 1 << 16, 1 << 16)));
  RegisterWorker();  // says which target
  const Status status = service_->SubmitJob(request).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  for (const char* word : {"task 1", "vast", "51.5 GB", "8.6 GB"}) {
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  }
}

TEST_F(ServiceTest, AJobRunsToItsEndAndEveryTrialIsRecorded) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  uint64_t done = 0;
  std::vector<proto::CandidateResult> results;
  for (int round = 0; round < 30; ++round) {
    Search();
    auto reply = Sync(worker, 4, results, done);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    results.clear();
    for (const auto& lease : reply->leases()) {
      EXPECT_EQ(lease.threads(), 1);
      EXPECT_EQ(lease.workload_hash().size(), 32u);
    }
    for (const auto& spec : Specs(*reply)) results.push_back(Ok(spec));
    done += results.size();
  }
  Search();
  auto status = Watch(job);
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_DONE);
  EXPECT_EQ(status.trials(), 20);
  ASSERT_EQ(status.outcomes_size(), 1);
  EXPECT_EQ(status.outcomes(0).outcome(), "ok");
  EXPECT_EQ(status.outcomes(0).count(), 20);
  EXPECT_EQ(status.tasks(0).trials() + status.tasks(1).trials(), 20);
  EXPECT_EQ(Records(), 20);
  EXPECT_EQ(search_.seen.size(), 20u);
  EXPECT_EQ(store_.GetJob(job)->state, db::JobState::kDone);
}

TEST_F(ServiceTest, AJobOnANoisyMachineSaysSo) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  Search();
  auto leased = Sync(worker, 10);
  ASSERT_TRUE(leased.ok());
  proto::SynchronizeRequest request;
  request.set_worker(worker);
  for (const auto& spec : Specs(*leased)) {
    proto::CandidateResult result = Ok(spec, 2000);
    for (float us : {2000.0F, 3000.0F, 2000.0F, 3000.0F}) result.add_samples(us);
    *request.add_results() = result;
  }
  ASSERT_EQ(request.results_size(), 10);
  request.mutable_disturbance()->set_timed_seconds(0.5);
  request.mutable_disturbance()->set_switches(40);
  ASSERT_TRUE(service_->Synchronize(request).ok());
  Search();
  auto status = Watch(job);
  EXPECT_NEAR(status.within(), 0.25, 1e-9);
  EXPECT_NE(status.warning().find("80 times a second"), std::string::npos) << status.warning();
}

TEST_F(ServiceTest, WhatAJobLearnedStartsTheNextAndAnswersCompilers) {
  proto::GetModelRequest request;
  request.set_target(Fingerprint(target_));
  request.set_micro_architecture(MicroArchitecture(target_));
  request.set_features_version(costmodel::kFeaturesVersion);
  EXPECT_EQ(service_->GetModel(request)->model(), "");
  search_.model = SealedModel();
  uint64_t worker = RegisterWorker();
  Submit();
  uint64_t done = 0;
  std::vector<proto::CandidateResult> results;
  for (int round = 0; round < 30; ++round) {
    Search();
    auto reply = Sync(worker, 4, results, done);
    ASSERT_TRUE(reply.ok());
    results.clear();
    for (const auto& spec : Specs(*reply)) results.push_back(Ok(spec));
    done += results.size();
  }
  Search();
  EXPECT_EQ(search_.loaded_model, "") << "nothing was known then";
  auto reply = service_->GetModel(request);
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply->model() == search_.model);
  EXPECT_EQ(reply->programs(), 20);
  request.set_target("another");
  EXPECT_TRUE(service_->GetModel(request)->model() == search_.model) << "of a similar target";
  request.set_features_version(costmodel::kFeaturesVersion + 1);
  EXPECT_EQ(service_->GetModel(request)->model(), "");

  auto again = JobRequest();
  again.set_request_id("twice");
  ASSERT_TRUE(service_->SubmitJob(again).ok());
  Search();
  EXPECT_TRUE(search_.loaded_model == search_.model);
  EXPECT_TRUE(search_.known_tasks.empty()) << "the same tasks are no others";

  auto other = JobRequest();
  other.set_request_id("other");
  other.clear_tasks();
  auto* task = other.add_tasks();
  task->set_weight(1);
  *task->mutable_workload() = wire::ToProto(te::Canonicalize(MatmulBiasRelu(64, 64, 64)));
  ASSERT_TRUE(service_->SubmitJob(other).ok());
  Search();
  ASSERT_EQ(search_.known_tasks.size(), 2u);
  EXPECT_EQ(search_.known_tasks[0].results.size() + search_.known_tasks[1].results.size(), 20u);
  EXPECT_EQ(search_.known_tasks[0].results[0].us, 100);
}

// The second task's constants are large, and stay in the caches.
TEST_F(ServiceTest, WarmTasksAreTimedAndRecordedApart) {
  auto request = JobRequest();
  *request.mutable_tasks(1)->mutable_workload() =
      wire::ToProto(te::Canonicalize(MatmulBiasRelu(1, 512, 512)));
  request.mutable_tasks(0)->set_warm_constants(true);  // 1 KiB: cold and warm are the same
  request.mutable_tasks(1)->set_warm_constants(true);
  RegisterWorker();  // says which target
  auto submitted = service_->SubmitJob(request);
  ASSERT_TRUE(submitted.ok());
  Restart();  // it is a part of the job that is kept
  uint64_t worker = RegisterWorker();
  Search();
  EXPECT_FALSE(Watch(submitted->job()).tasks(0).warm_constants());
  EXPECT_TRUE(Watch(submitted->job()).tasks(1).warm_constants());
  auto reply = Sync(worker, 2);
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->leases_size(), 2);
  EXPECT_FALSE(reply->leases(0).warm_constants());
  EXPECT_TRUE(reply->leases(1).warm_constants());
  std::vector<proto::CandidateResult> results;
  for (const auto& spec : Specs(*reply)) results.push_back(Ok(spec));
  ASSERT_TRUE(Sync(worker, 0, results).ok());
  auto query = service_->Query(proto::QueryRequest());
  ASSERT_EQ(query->records_size(), 2);
  for (const proto::QueryRecord& r : query->records()) {
    EXPECT_EQ(r.warm_constants(), r.workload() == reply->leases(1).workload_hash());
  }

  // The same model, cold: what is known of its first task is of use, the second one's warm times
  // are another task's.
  ASSERT_TRUE(service_
                  ->CancelJob([&] {
                    proto::CancelJobRequest cancel;
                    cancel.set_job(submitted->job());
                    return cancel;
                  }())
                  .ok());
  Search();
  for (auto& task : *request.mutable_tasks()) task.set_warm_constants(false);
  request.set_request_id("cold");
  ASSERT_TRUE(service_->SubmitJob(request).ok());
  Search();
  ASSERT_EQ(search_.known.size(), 1u);
  EXPECT_EQ(search_.known[0].task, 0);
  ASSERT_EQ(search_.known_tasks.size(), 1u);
  EXPECT_EQ(search_.known_tasks[0].constants, Constants::kWarm);
  EXPECT_EQ(search_.known_tasks[0].results.size(), 1u);
}

TEST_F(ServiceTest, ImportedRecordsStartAJobWarm) {
  std::vector<db::Record> records;
  for (int i = 0; i < 100; ++i) {
    db::Record r;
    te::Program program = te::Canonicalize(MatmulBiasRelu(64, 64 + 8 * (i % 2), 64));
    schedule::Schedule schedule = lower::ReferenceSchedule(program, target_);
    schedule.workload = te::WorkloadHash(program);
    schedule.alternative = i;  // distinct
    r.key = {schedule.workload, Fingerprint(target_), 1, "strict"};
    r.schedule_hash = schedule::ScheduleHash(schedule);
    r.workload_text = te::CanonicalText(program);
    r.task_name = "imported";
    r.flops = te::FlopCount(program);
    r.micro_architecture = MicroArchitecture(target_);
    r.target_text = TargetText(target_);
    r.schedule = schedule::ToText(schedule);
    r.median_us = 100 + i;
    r.samples = {100.0F + static_cast<float>(i)};
    records.push_back(r);
  }
  // Another machine's times of the second workload do not count beside our own.
  records.push_back(records[1]);
  records.back().key.target = "elsewhere";
  records.back().median_us = 1;
  auto merged = store_.Merge(records);
  ASSERT_TRUE(merged.ok()) << merged.status().ToString();
  auto request = JobRequest();
  request.clear_tasks();
  auto* task = request.add_tasks();
  task->set_weight(1);
  *task->mutable_workload() = wire::ToProto(te::Canonicalize(MatmulBiasRelu(64, 80, 64)));
  RegisterWorker();
  ASSERT_TRUE(service_->SubmitJob(request).ok());
  Search();
  ASSERT_EQ(search_.known_tasks.size(), 2u);
  EXPECT_EQ(search_.known_tasks[0].results.front().us, 101) << "the nearest in size comes first";
  EXPECT_EQ(search_.known_tasks[1].results.front().us, 100);
  for (const KnownTask& known : search_.known_tasks) {
    EXPECT_EQ(known.results.size(), 50u);
    EXPECT_GE(known.results.front().us, 100);
  }
}

TEST_F(ServiceTest, AJobRunsWithoutAStoredModelThatIsPoisoned) {
  db::StoredModel poisoned{
      Fingerprint(target_),       MicroArchitecture(target_), costmodel::kFeaturesVersion, 10, 1,
      "temper-trees but not ours"};
  ASSERT_TRUE(store_.PutModel(poisoned).ok());
  RegisterWorker();
  std::string job = Submit();
  Search();
  EXPECT_EQ(Watch(job).phase(), proto::JOB_PHASE_RUNNING);
  EXPECT_EQ(search_.loaded_model, "");
}

TEST_F(ServiceTest, ReportingTwiceIsHarmless) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  Search();
  auto reply = Sync(worker, 2);
  auto specs = Specs(*reply);
  ASSERT_EQ(specs.size(), 2u);
  std::vector<proto::CandidateResult> results = {Ok(specs[0]), Ok(specs[0]), Ok(specs[1])};
  for (int i = 0; i < 3; ++i) {
    auto again = Sync(worker, 0, results);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->settled_size(), 3) << "the worker may forget them";
  }
  Search();
  EXPECT_EQ(Watch(job).trials(), 2);
  EXPECT_EQ(search_.seen.size(), 2u);
}

TEST_F(ServiceTest, AllTimesOfATargetAreRelativeToOneSpeed) {
  uint64_t worker = RegisterWorker();
  Submit();
  Search();
  auto first = Sync(worker, 1);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->leases_size(), 1);
  EXPECT_EQ(first->leases(0).control_reference_us(), 0) << "nothing is known yet";
  proto::CandidateResult result = Ok(Specs(*first)[0]);
  result.set_control_us(60);
  result.set_drift(1.2);
  auto second = Sync(worker, 1, {result}, 1);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->leases_size(), 1);
  EXPECT_DOUBLE_EQ(second->leases(0).control_reference_us(), 50);

  Restart();
  worker = RegisterWorker("later");
  Search();
  auto third = Sync(worker, 1);
  ASSERT_TRUE(third.ok());
  ASSERT_EQ(third->leases_size(), 1);
  EXPECT_DOUBLE_EQ(third->leases(0).control_reference_us(), 50) << "the records know it";
}

TEST_F(ServiceTest, NothingIsSettledThatIsNotStored) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  Search();
  auto reply = Sync(worker, 1);
  auto specs = Specs(*reply);
  ASSERT_EQ(specs.size(), 1u);
  store_.broken = true;
  auto failed = Sync(worker, 0, {Ok(specs[0])});
  EXPECT_EQ(failed.status().code(), Code::kUnavailable);
  Search();
  EXPECT_EQ(Watch(job).trials(), 0);
  store_.broken = false;
  auto good = Sync(worker, 0, {Ok(specs[0])});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->settled_size(), 1);
  Search();
  EXPECT_EQ(Watch(job).trials(), 1);
  EXPECT_EQ(Records(), 1);
}

TEST_F(ServiceTest, ALostWorkersCandidatesAreMeasuredByAnother) {
  uint64_t dead = RegisterWorker("dead");
  std::string job = Submit();
  Search();
  auto lost = Specs(*Sync(dead, 4));
  ASSERT_EQ(lost.size(), 4u);
  clock_.Advance(31);
  uint64_t alive = RegisterWorker("alive");
  Search();
  auto again = Specs(*Sync(alive, 4));
  ASSERT_EQ(again.size(), 4u);
  std::set<uint64_t> units;
  for (const auto& spec : again) units.insert(spec.unit());
  for (const auto& spec : lost) EXPECT_EQ(units.count(spec.unit()), 1u);
  // Late results are dropped.
  auto late = Sync(dead, 0, {Ok(lost[0])});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->settled_size(), 1);
  Search();
  EXPECT_EQ(Watch(job).trials(), 0);
}

TEST_F(ServiceTest, ACandidateThatFailsThreeTimesIsATrialWithItsReason) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  search_.limit = 1;
  for (int i = 0; i < 3; ++i) {
    Search();
    auto specs = Specs(*Sync(worker, 1));
    ASSERT_EQ(specs.size(), 1u) << i;
    proto::CandidateResult result = Ok(specs[0]);
    result.set_outcome(proto::OUTCOME_INFRASTRUCTURE);
    result.set_message("no disk");
    ASSERT_TRUE(Sync(worker, 0, {result}).ok());
  }
  Search();
  auto status = Watch(job);
  // Nothing was measured at all, so the job has failed, and says why.
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_FAILED);
  EXPECT_NE(status.message().find("no disk"), std::string::npos) << status.message();
  EXPECT_EQ(status.trials(), 1);
  EXPECT_EQ(status.outcomes(0).outcome(), "infrastructure");
  std::string detail;
  ASSERT_TRUE(store_
                  .ForEach({},
                           [&](const db::Record& r) {
                             detail = r.detail;
                             return true;
                           })
                  .ok());
  EXPECT_EQ(detail, "no disk");
}

TEST_F(ServiceTest, ResultsThatCannotBeTrueAreFaults) {
  uint64_t worker = RegisterWorker();
  Submit();
  Search();
  auto specs = Specs(*Sync(worker, 5));
  ASSERT_EQ(specs.size(), 5u);
  std::vector<proto::CandidateResult> results = {Ok(specs[0]), Ok(specs[1]), Ok(specs[2]),
                                                 Ok(specs[3]), Ok(specs[4])};
  results[0].set_median_us(-1);
  results[1].set_median_us(std::numeric_limits<double>::quiet_NaN());
  results[2].set_median_us(1e-6);  // faster than any core
  results[3].set_outcome(static_cast<proto::Outcome>(77));
  results[4].clear_samples();
  auto reply = Sync(worker, 0, results);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->settled_size(), 5);
  Search();
  EXPECT_EQ(Records(), 0);
  EXPECT_TRUE(search_.seen.empty());
}

TEST_F(ServiceTest, AJobGoesOnAfterARestart) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  Search();
  auto specs = Specs(*Sync(worker, 4));
  ASSERT_EQ(specs.size(), 4u);
  ASSERT_TRUE(Sync(worker, 0, {Ok(specs[0]), Ok(specs[1]), Ok(specs[2])}).ok());
  Search();
  service_->Stop();
  Restart();
  EXPECT_EQ(Sync(worker, 0).status().code(), Code::kNotFound) << "the worker registers again";
  RegisterWorker();
  Search();
  EXPECT_EQ(search_.known.size(), 3u) << "what was stored is known to the new search";
  EXPECT_EQ(search_.budget.trials, 17);
  auto status = Watch(job);
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_RUNNING);
  EXPECT_EQ(status.trials(), 3);
}

TEST_F(ServiceTest, SubmittingTwiceMakesOneJob) {
  RegisterWorker();
  std::string first = Submit(), second = Submit();
  EXPECT_EQ(first, second);
  EXPECT_EQ(service_->ListJobs()->jobs_size(), 1);
}

TEST_F(ServiceTest, ACancelledJobEndsAndItsResultsAreDropped) {
  uint64_t worker = RegisterWorker();
  std::string job = Submit();
  Search();
  auto specs = Specs(*Sync(worker, 2));
  proto::CancelJobRequest request;
  request.set_job(job);
  ASSERT_TRUE(service_->CancelJob(request).ok());
  Search();
  EXPECT_EQ(Watch(job).phase(), proto::JOB_PHASE_CANCELLED);
  auto reply = Sync(worker, 5, {Ok(specs[0])});
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->settled_size(), 1);
  EXPECT_EQ(reply->leases_size(), 0);
  EXPECT_EQ(Watch(job).trials(), 0);
}

TEST_F(ServiceTest, RefusesJobsThatMakeNoSense) {
  EXPECT_EQ(service_->SubmitJob(JobRequest()).status().code(), Code::kFailedPrecondition)
      << "no worker, no target";
  RegisterWorker();
  auto expect_refused = [&](auto&& change, const std::string& part) {
    auto request = JobRequest();
    change(request);
    auto reply = service_->SubmitJob(request);
    EXPECT_EQ(reply.status().code(), Code::kInvalidArgument);
    EXPECT_NE(reply.status().message().find(part), std::string::npos) << reply.status().message();
  };
  expect_refused([](auto& r) { r.clear_tasks(); }, "no kernel");
  expect_refused([](auto& r) { r.set_trials(0); }, "budget");
  expect_refused([](auto& r) { r.set_seconds(-1); }, "budget");
  expect_refused([](auto& r) { r.set_threads(0); }, "threads");
  expect_refused([](auto& r) { r.set_numerics("exact"); }, "numerics");
  expect_refused([](auto& r) { r.mutable_tasks(1)->set_weight(0); }, "task 1");
  expect_refused([](auto& r) { r.mutable_tasks(1)->mutable_workload()->clear_stages(); }, "task 1");
  EXPECT_EQ(service_->ListJobs()->jobs_size(), 0);
}

TEST_F(ServiceTest, RefusesWorkersThatMakeNoSense) {
  proto::RegisterRequest request;
  request.set_protocol(2);
  EXPECT_EQ(service_->Register(request).status().code(), Code::kFailedPrecondition);
  request.set_protocol(1);
  EXPECT_EQ(service_->Register(request).status().code(), Code::kInvalidArgument);
}

TEST_F(ServiceTest, WhatIsNotBegunWhenTheSearchesTimeIsOverIsAbandoned) {
  uint64_t worker = RegisterWorker();
  auto request = JobRequest();
  request.set_seconds(5);
  auto reply = service_->SubmitJob(request);
  ASSERT_TRUE(reply.ok());
  Search();
  auto specs = Specs(*Sync(worker, 3));
  ASSERT_EQ(specs.size(), 3u);
  Search();
  int waiting = search_.proposed - 3;
  EXPECT_GT(waiting, 0);
  EXPECT_EQ(search_.abandoned, 0);
  search_.limit = search_.proposed;  // nothing more comes
  search_.elapsed = 4.7;
  search_.search_time_over = true;
  Search();
  EXPECT_EQ(search_.abandoned, waiting);
  EXPECT_EQ(Watch(reply->job()).phase(), proto::JOB_PHASE_RUNNING) << "three are being measured";
  ASSERT_TRUE(Sync(worker, 0, {Ok(specs[0]), Ok(specs[1]), Ok(specs[2])}).ok());
  Search();
  EXPECT_EQ(Watch(reply->job()).phase(), proto::JOB_PHASE_DONE);
  EXPECT_EQ(Watch(reply->job()).trials(), 3);
}

TEST_F(ServiceTest, AJobEndsWithItsTimeWhateverIsStillMeasured) {
  uint64_t worker = RegisterWorker();
  auto request = JobRequest();
  request.set_seconds(5);
  auto reply = service_->SubmitJob(request);
  ASSERT_TRUE(reply.ok());
  Search();
  auto specs = Specs(*Sync(worker, 3));
  ASSERT_EQ(specs.size(), 3u);
  ASSERT_TRUE(Sync(worker, 0, {Ok(specs[0])}).ok());
  search_.elapsed = 5;
  Search();
  EXPECT_EQ(Watch(reply->job()).phase(), proto::JOB_PHASE_DONE);
  EXPECT_EQ(Watch(reply->job()).trials(), 1);
  auto late = Sync(worker, 0, {Ok(specs[1])});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->settled_size(), 1) << "the worker may forget it";
  EXPECT_EQ(Watch(reply->job()).trials(), 1);
}

TEST_F(ServiceTest, QueriesAndDevices) {
  uint64_t worker = RegisterWorker("bench");
  Submit();
  Search();
  auto specs = Specs(*Sync(worker, 2));
  ASSERT_TRUE(Sync(worker, 0, {Ok(specs[0], 50), Ok(specs[1], 70)}).ok());
  auto all = service_->Query({});
  ASSERT_TRUE(all.ok());
  EXPECT_GE(all->records_size(), 1);
  EXPECT_EQ(all->records(0).worker(), "bench");
  EXPECT_GT(all->records(0).gflops(), 0);
  proto::QueryRequest none;
  none.set_target("0000000000000000");
  EXPECT_EQ(service_->Query(none)->records_size(), 0);
  none.Clear();
  none.add_workloads("short");
  EXPECT_EQ(service_->Query(none).status().code(), Code::kInvalidArgument);
  auto devices = service_->ListDevices();
  ASSERT_EQ(devices->devices_size(), 1);
  EXPECT_EQ(devices->devices(0).health(), "ready");
  EXPECT_EQ(devices->devices(0).done(), 2);
}

TEST(ListenAddress, OnlyLoopbackIsServed) {
  for (const char* good : {"127.0.0.1:7400", "localhost:0", "[::1]:80", "127.1.2.3:1"}) {
    EXPECT_TRUE(CheckListenAddress(good).ok()) << good;
  }
  for (const char* open : {"0.0.0.0:7400", "192.168.1.1:7400", "[::]:7400", "example.org:80",
                           "127.0.0.1.example.org:80", "127.0.0.256:80"}) {
    EXPECT_EQ(CheckListenAddress(open).code(), Code::kPermissionDenied) << open;
  }
  for (const char* bad : {"", "7400", ":7400", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"}) {
    EXPECT_EQ(CheckListenAddress(bad).code(), Code::kInvalidArgument) << bad;
  }
}

TEST(Network, APortInUseIsAClearError) {
  db::MemoryStore store;
  SystemClock clock;
  TuningService service(ServiceOptions{}, &store, &clock, ModelTunerFactory(), Logger());
  auto first = StartGrpcServer("127.0.0.1:0", &service);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  auto second = StartGrpcServer((*first)->address(), &service);
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_NE(second.status().message().find((*first)->address()), std::string::npos);
}

}  // namespace
}  // namespace temper::tuner
