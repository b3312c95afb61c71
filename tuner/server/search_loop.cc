// The part of the service that searches, on a thread of its own.
#include <algorithm>
#include <chrono>

#include "base/core_lock.h"
#include "costmodel/features.h"
#include "costmodel/saved_model.h"
#include "tuner/server/known.h"
#include "tuner/server/service.h"

namespace temper::tuner {
namespace {

constexpr double kPublishSeconds = 0.5;  // a running job's state is news so often at least
constexpr double kCoreLookSeconds = 5;   // how often locked cores are looked for
constexpr int kTrialsForOneAhead = 8;    // after so many, one candidate more is kept ready

// Whether no trial says anything of its candidate. REQUIRES the service's mutex.
bool NothingMeasured(const Job& job) {
  return std::all_of(job.outcomes.begin(), job.outcomes.end(),
                     [](const auto& entry) { return entry.first == Outcome::kInfrastructure; });
}

}  // namespace

Status TuningService::Resume() {
  TEMPER_ASSIGN_OR_RETURN(auto stored, store_->ListJobs(true));
  for (const db::Job& entry : stored) {
    proto::SubmitJobRequest request;
    Result<std::unique_ptr<Job>> job = DataLoss("its request is damaged");
    if (request.ParseFromString(entry.request)) job = MakeJob(request, Target());
    if (!job.ok()) {
      log_.Error("job {} cannot be continued: {}", entry.id, job.status().message());
      TEMPER_RETURN_IF_ERROR(store_->UpdateJob(entry.id, db::JobState::kFailed, entry.progress,
                                               job.status().message(), clock_->UnixMillis()));
      continue;
    }
    (*job)->id = entry.id;
    proto::JobStatus before;
    if (before.ParseFromString(entry.progress)) {
      (*job)->trials = before.trials();
      (*job)->seconds_before = before.seconds();
      for (const proto::OutcomeCount& count : before.outcomes()) {
        if (auto outcome = ParseOutcome(count.outcome())) {
          (*job)->outcomes[*outcome] = count.count();
        }
      }
      int tasks = std::min(before.tasks_size(), (*job)->status.tasks_size());
      for (int i = 0; i < tasks; ++i) {
        (*job)->status.mutable_tasks(i)->set_trials(before.tasks(i).trials());
      }
    }
    log_.Info("job {} goes on after {} trials", entry.id, (*job)->trials);
    TEMPER_RETURN_IF_ERROR(AddJob(std::move(*job)));
  }
  return OkStatus();
}

void TuningService::Start() {
  search_thread_ = std::thread([this] { SearchLoop(); });
}

void TuningService::Stop() {
  {
    Lock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  work_.notify_all();
  news_.notify_all();
  if (search_thread_.joinable()) search_thread_.join();
  for (const auto& job : jobs_) {
    if (!db::IsFinished(job->state)) SaveProgress(*job);
  }
}

void TuningService::SearchLoop() {
  while (true) {
    {
      Lock lock(mutex_);
      if (stopping_) return;
    }
    if (!options_.core_lock_folder.empty() &&
        clock_->NowSeconds() - looked_for_cores_ > kCoreLookSeconds) {
      looked_for_cores_ = clock_->NowSeconds();
      std::vector<int> all;
      for (int i = 0; i < static_cast<int>(std::thread::hardware_concurrency()); ++i) {
        all.push_back(i);
      }
      std::vector<int> free = UnlockedCores(options_.core_lock_folder, all);
      // Cores of a container's cpuset may be fewer than there are: then nothing changes.
      if (!free.empty() && !PinToCores(free).ok()) log_.Debug("cannot keep off locked cores");
    }
    if (SearchOnce()) continue;
    Lock lock(mutex_);
    work_.wait_for(lock, std::chrono::milliseconds(50));
  }
}

bool TuningService::SearchOnce() {
  std::vector<Job*> unfinished;
  {
    Lock lock(mutex_);
    RetireLost(lock);
    for (const auto& job : jobs_) {
      if (!db::IsFinished(job->state)) unfinished.push_back(job.get());
    }
  }
  bool busy = false;
  for (Job* job : unfinished) {
    if (job->tuner == nullptr && !job->cancelled) {
      Status started = StartSearch(*job);
      if (!started.ok()) FinishJob(*job, db::JobState::kFailed, started.message());
      busy = true;
      continue;
    }
    busy = SearchJob(*job) || busy;
  }
  return busy;
}

// Units that failed too often become results, so that every trial is accounted for.
void TuningService::RetireLost(Lock& lock) {
  std::vector<Retired> retired = fleet_.Expire();
  if (retired.empty()) return;
  std::vector<db::Record> records;
  for (const Retired& lost : retired) {
    Job* job = unit_jobs_.at(lost.unit);
    proto::CandidateResult result;
    result.set_message(lost.reason);
    records.push_back(MakeRecord(*job, job->candidates.at(lost.unit), result,
                                 Outcome::kInfrastructure, proto::RegisterRequest(),
                                 clock_->UnixMillis()));
  }
  lock.unlock();
  Status stored = store_->Put(records);
  // Such a record says nothing of its candidate; the job's count does not depend on it.
  if (!stored.ok()) log_.Error("lost candidates are not recorded: {}", stored.message());
  lock.lock();
  for (const Retired& lost : retired) {
    auto job = unit_jobs_.find(lost.unit);
    if (job != unit_jobs_.end()) Settle(*job->second, lost.unit, Outcome::kInfrastructure, 0);
  }
}

Status TuningService::FindControlReference(const std::string& fingerprint) {
  {
    Lock lock(mutex_);
    if (control_references_.count(fingerprint) > 0) return OkStatus();
  }
  db::RecordFilter filter;
  filter.target = fingerprint;
  double us = 0;
  TEMPER_RETURN_IF_ERROR(store_->ForEach(filter, [&](const db::Record& record) {
    if (record.outcome == Outcome::kOk && record.control_us > 0)
      us = record.control_us / record.drift;
    return us <= 0;
  }));
  Lock lock(mutex_);
  if (us > 0) control_references_.try_emplace(fingerprint, us);
  return OkStatus();
}

Status TuningService::StartSearch(Job& job) {
  TEMPER_RETURN_IF_ERROR(FindControlReference(job.fingerprint));
  TEMPER_ASSIGN_OR_RETURN(std::vector<Measured> known, KnownResults(job, *store_));
  std::vector<TunerTask> tasks;
  for (const JobTask& task : job.tasks)
    tasks.push_back({task.name, task.program, task.weight, task.constants});
  TunerOptions options;
  options.threads = job.request.threads();
  options.seed = job.request.seed();
  options.numerics = job.numerics;
  options.budget = {job.request.trials(), job.request.seconds()};
  // A job that goes on after a restart has spent a part already. What is left is never 0, which
  // would mean no limit.
  if (options.budget.trials > 0) {
    options.budget.trials = std::max<int64_t>(1, options.budget.trials - job.trials);
  }
  if (options.budget.seconds > 0) {
    options.budget.seconds = std::max(0.01, options.budget.seconds - job.seconds_before);
  }
  options.model = LoadModel(job);
  TEMPER_ASSIGN_OR_RETURN(options.known_tasks, KnownOthers(job, *store_));
  TEMPER_ASSIGN_OR_RETURN(auto tuner,
                          factory_(std::move(tasks), job.target, options, known, clock_));
  log_.Info("job {} runs; {} results of earlier runs are known", job.id, known.size());
  Lock lock(mutex_);
  job.tuner = std::move(tuner);
  job.state = db::JobState::kRunning;
  job.saved_at = job.model_saved_at = clock_->NowSeconds();
  Publish(job, job.tuner->Snapshot(), fleet_.ReadyWorkers(job.Needs()));
  news_.notify_all();
  return OkStatus();
}

bool TuningService::SearchJob(Job& job) {
  std::vector<Measured> results;
  int waiting = 0, ready = 0;
  {
    Lock lock(mutex_);
    results.assign(std::make_move_iterator(job.inbox.begin()),
                   std::make_move_iterator(job.inbox.end()));
    job.inbox.clear();
    waiting = fleet_.Waiting(job.number);
    ready = fleet_.ReadyWorkers(job.Needs());
  }
  if (job.cancelled) {
    FinishJob(job, db::JobState::kCancelled, "cancelled");
    return true;
  }
  if (!results.empty()) job.tuner->Observe(results);
  TunerState state = job.tuner->Snapshot();
  double limit = job.request.seconds();
  if (limit > 0 && job.seconds_before + state.elapsed_seconds >= limit) {
    // What is still being measured is no trial.
    FinishJob(job, db::JobState::kDone, "");
    return true;
  }
  std::vector<Candidate> proposed;
  const int ahead = static_cast<int>(std::min<int64_t>(
      options_.candidates_ahead, options_.first_ahead + state.trials / kTrialsForOneAhead));
  const int at_once = std::min(options_.propose_at_once, ahead);
  const int room = ahead * std::max(ready, 1) - waiting;
  const bool enough_room = room >= at_once / 2;
  if (enough_room) proposed = job.tuner->Propose(std::min(room, at_once));
  std::vector<Candidate> withdrawn;
  bool idle = false;
  {
    Lock lock(mutex_);
    for (Candidate& candidate : proposed) {
      UnitId unit = fleet_.Add(job.number, job.Needs());
      unit_jobs_[unit] = &job;
      job.candidates.emplace(unit, std::move(candidate));
    }
    if (state.search_time_over) {  // what no worker has begun is not measured any more
      for (auto it = job.candidates.begin(); it != job.candidates.end();) {
        if (!it->second.final && fleet_.Withdraw(it->first)) {
          withdrawn.push_back(std::move(it->second));
          unit_jobs_.erase(it->first);
          it = job.candidates.erase(it);
        } else {
          ++it;
        }
      }
    }
    idle = job.candidates.empty() && job.inbox.empty();
    bool stale =
        state.elapsed_seconds + job.seconds_before - job.status.seconds() > kPublishSeconds;
    if (job.dirty || stale || !proposed.empty()) {
      Publish(job, job.tuner->Snapshot(), ready);
      news_.notify_all();
    }
  }
  for (const Candidate& candidate : withdrawn) job.tuner->Abandon(candidate);
  bool nothing_left =
      proposed.empty() && results.empty() && withdrawn.empty() && idle && enough_room;
  if ((job.tuner->Done() && idle) || nothing_left) {
    FinishJob(job, db::JobState::kDone, "");
    return true;
  }
  if (clock_->NowSeconds() - job.saved_at > options_.save_seconds) SaveProgress(job);
  if (clock_->NowSeconds() - job.model_saved_at > options_.save_model_seconds) SaveModel(job);
  return !results.empty() || !proposed.empty();
}

void TuningService::FinishJob(Job& job, db::JobState state, std::string message) {
  SaveModel(job);
  Lock lock(mutex_);
  if (state == db::JobState::kDone && !job.fault.empty() && NothingMeasured(job)) {
    state = db::JobState::kFailed;
    message = "no candidate could be measured: " + job.fault;
  }
  fleet_.Cancel(job.number);
  for (const auto& entry : job.candidates) unit_jobs_.erase(entry.first);
  job.candidates.clear();
  job.state = state;
  TunerState last;
  if (job.tuner != nullptr) last = job.tuner->Snapshot();
  last.remaining_seconds = 0;
  Publish(job, last, fleet_.ReadyWorkers(job.Needs()));
  job.status.set_message(message);
  job.tuner.reset();
  log_.Info("job {} is {}: {} trials in {:.1f} s ({:.1f} s of search, {:.1f} s of training){}{}",
            job.id, db::JobStateName(state), job.trials, job.status.seconds(), last.search_seconds,
            last.train_seconds, message.empty() ? "" : ": ", message);
  lock.unlock();
  SaveProgress(job);
  news_.notify_all();
}

std::string TuningService::LoadModel(const Job& job) {
  auto stored =
      store_->GetModel(job.fingerprint, MicroArchitecture(job.target), costmodel::kFeaturesVersion);
  Status usable = stored.status();
  if (stored.ok() && !stored->has_value()) return {};
  if (usable.ok()) usable = costmodel::UnsealModel((*stored)->bytes).status();
  if (!usable.ok()) {
    log_.Warning("job {} starts without the stored cost model: {}", job.id, usable.message());
    return {};
  }
  log_.Info("job {} starts with a cost model of {} measurements on target {}", job.id,
            (*stored)->programs, (*stored)->target);
  return std::move((*stored)->bytes);
}

void TuningService::SaveModel(Job& job) {
  if (job.tuner == nullptr) return;
  job.model_saved_at = clock_->NowSeconds();
  db::StoredModel model;
  model.bytes = job.tuner->SaveModel();
  if (model.bytes.empty()) return;
  model.target = job.fingerprint;
  model.micro_architecture = MicroArchitecture(job.target);
  model.features_version = costmodel::kFeaturesVersion;
  model.programs = job.tuner->Snapshot().learned;
  model.created_ms = clock_->UnixMillis();
  Status stored = store_->PutModel(model);
  if (!stored.ok()) log_.Error("the cost model is not stored: {}", stored.message());
}

void TuningService::SaveProgress(Job& job) {
  std::string progress, message;
  db::JobState state;
  {
    Lock lock(mutex_);
    progress = job.status.SerializeAsString();
    message = job.status.message();
    state = job.state;
    job.saved_at = clock_->NowSeconds();
  }
  Status saved = store_->UpdateJob(job.id, state, progress, message, clock_->UnixMillis());
  if (!saved.ok()) log_.Error("the progress of job {} is not stored: {}", job.id, saved.message());
}

}  // namespace temper::tuner
