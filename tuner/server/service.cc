#include "tuner/server/service.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "compiler/wire/wire_schedule.h"
#include "compiler/wire/wire_target.h"

namespace temper::tuner {
namespace {

constexpr uint64_t kInputSeed = 1;  // one for all, so that a workload is prepared once
constexpr int kMaxWant = 64;

}  // namespace

// A result of a current lease, with the record that is to be committed.
struct TuningService::Accepted {
  Job* job;
  UnitId unit;
  uint64_t epoch;
  Outcome outcome;
  db::Record record;
};

TuningService::TuningService(ServiceOptions options, db::Store* store, Clock* clock,
                             TunerFactory factory, Logger log)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      factory_(std::move(factory)),
      log_(std::move(log)),
      fleet_(options_.fleet, clock) {}

TuningService::~TuningService() { Stop(); }

Job* TuningService::FindJob(const std::string& id) {
  for (const auto& job : jobs_) {
    if (job->id == id) return job.get();
  }
  return nullptr;
}

// ---- Workers

Result<proto::RegisterReply> TuningService::Register(const proto::RegisterRequest& request) {
  if (request.protocol() != 1) {
    return FailedPrecondition("this server speaks protocol 1, the worker " +
                              std::to_string(request.protocol()) +
                              "; install both from one version");
  }
  auto target = wire::FromProto(request.target());
  if (!target.ok()) return target.status().WithContext("the worker's target");
  if (request.threads() < 1 || request.threads() > 1024 || request.name().size() > 256 ||
      request.cores_size() > 4096 || request.compiler_version().size() > 256 ||
      !std::isfinite(request.control_gflops())) {
    return InvalidArgument("the worker's registration makes no sense");
  }
  Lock lock(mutex_);
  WorkerId id = fleet_.Register({request.name(), Fingerprint(*target), request.threads()});
  registrations_[id] = request;
  log_.Info("worker {} registered: {}, {} threads", request.name(), target->name,
            request.threads());
  for (const auto& job : jobs_) job->dirty = true;
  work_.notify_all();
  proto::RegisterReply reply;
  reply.set_worker(id);
  reply.set_heartbeat_seconds(options_.fleet.heartbeat_seconds);
  return reply;
}

void TuningService::TakeResults(const proto::SynchronizeRequest& request,
                                std::vector<Accepted>& accepted, proto::SynchronizeReply& reply) {
  const proto::RegisterRequest& worker = registrations_[request.worker()];
  auto settle = [&](const proto::CandidateResult& result) {
    proto::HeldUnit* unit = reply.add_settled();
    unit->set_unit(result.unit());
    unit->set_epoch(result.epoch());
  };
  std::set<Job*> disturbed;
  for (const proto::CandidateResult& result : request.results()) {
    auto job = unit_jobs_.find(result.unit());
    if (job == unit_jobs_.end() ||
        fleet_.Check(request.worker(), result.unit(), result.epoch()) != Fleet::Verdict::kCurrent) {
      settle(result);
      continue;
    }
    const Candidate& candidate = job->second->candidates.at(result.unit());
    auto outcome = OutcomeFromInt(static_cast<int64_t>(result.outcome()) - 1);
    Status believable = outcome.has_value() ? CheckResult(*job->second, candidate, result, worker)
                                            : InvalidArgument("the worker sent an unknown outcome");
    if (!believable.ok() || *outcome == Outcome::kInfrastructure) {
      std::string reason = believable.ok() ? result.message() : believable.message();
      log_.Warning("worker {}: {}", worker.name(), reason);
      fleet_.Fault(request.worker(), result.unit(), reason.substr(0, 1000));
      job->second->fault = reason.substr(0, 1000);
      settle(result);
      continue;
    }
    if (*outcome == Outcome::kOk && result.control_us() > 0) {
      control_references_.try_emplace(job->second->fingerprint,
                                      result.control_us() / result.drift());
    }
    job->second->timing.Add(result, worker.control_gflops());
    if (request.has_disturbance() && disturbed.insert(job->second).second) {
      job->second->timing.Add(request.disturbance());
    }
    accepted.push_back(
        {job->second, result.unit(), result.epoch(), *outcome,
         MakeRecord(*job->second, candidate, result, *outcome, worker, clock_->UnixMillis())});
  }
}

void TuningService::Settle(Job& job, UnitId unit, Outcome outcome, double us) {
  auto it = job.candidates.find(unit);
  Candidate& candidate = it->second;
  if (!candidate.final) {
    ++job.trials;
    ++job.outcomes[outcome];
    proto::TaskStatus* task = job.status.mutable_tasks(candidate.task);
    task->set_trials(task->trials() + 1);
  }
  Measured measured;
  measured.task = candidate.task;
  measured.schedule = std::move(candidate.schedule);
  measured.outcome = outcome;
  measured.us = us;
  measured.final = candidate.final;
  job.inbox.push_back(std::move(measured));
  job.candidates.erase(it);
  unit_jobs_.erase(unit);
  job.dirty = true;
}

void TuningService::GrantLeases(const proto::SynchronizeRequest& request,
                                proto::SynchronizeReply& reply) {
  int want = std::min(request.want(), kMaxWant);
  if (want <= 0) return;
  std::map<std::tuple<Job*, int, bool>, proto::Lease*> leases;
  for (const Grant& grant : fleet_.Lease(request.worker(), want)) {
    Job* job = unit_jobs_.at(grant.unit);
    const Candidate& candidate = job->candidates.at(grant.unit);
    const JobTask& task = job->tasks[static_cast<size_t>(candidate.task)];
    proto::Lease*& lease = leases[{job, candidate.task, candidate.final}];
    if (lease == nullptr) {
      lease = reply.add_leases();
      *lease->mutable_workload() = task.workload;
      lease->set_workload_hash(std::string(task.hash.AsBytes()));
      lease->set_threads(job->request.threads());
      lease->set_seed(kInputSeed);
      lease->set_warm_constants(task.constants == Constants::kWarm);
      lease->set_build_timeout_seconds(options_.build_timeout_seconds);
      lease->set_run_timeout_seconds(options_.run_timeout_seconds);
      auto reference = control_references_.find(job->fingerprint);
      if (reference != control_references_.end()) {
        lease->set_control_reference_us(reference->second);
      }
    }
    proto::CandidateSpec* spec = lease->add_candidates();
    spec->set_unit(grant.unit);
    spec->set_epoch(grant.epoch);
    *spec->mutable_schedule() = wire::ToProto(candidate.schedule);
    spec->set_incumbent_us(candidate.incumbent_us);
    spec->set_final(candidate.final);
  }
}

Result<proto::SynchronizeReply> TuningService::Synchronize(
    const proto::SynchronizeRequest& request) {
  proto::SynchronizeReply reply;
  std::vector<Accepted> accepted;
  {
    Lock lock(mutex_);
    TEMPER_RETURN_IF_ERROR(fleet_.Heartbeat(request.worker(), request.done(), request.draining()));
    for (const proto::HeldUnit& unit : request.returned()) {
      fleet_.Return(request.worker(), unit.unit(), unit.epoch());
    }
    TakeResults(request, accepted, reply);
  }
  if (!accepted.empty()) {
    std::vector<db::Record> records;
    for (Accepted& a : accepted) records.push_back(a.record);
    // Without the lock: others go on, and commits that arrive together are made together. Only
    // what is committed is settled; the worker sends the rest again.
    Status stored = store_->Put(records);
    if (!stored.ok()) {
      log_.Error("results are not stored: {}", stored.message());
      return Unavailable("the results are not stored: " + stored.message());
    }
  }
  Lock lock(mutex_);
  for (Accepted& a : accepted) {
    proto::HeldUnit* unit = reply.add_settled();
    unit->set_unit(a.unit);
    unit->set_epoch(a.epoch);
    // Meanwhile the job may have been cancelled, or the result sent a second time.
    if (fleet_.Check(request.worker(), a.unit, a.epoch) != Fleet::Verdict::kCurrent) continue;
    fleet_.Complete(request.worker(), a.unit);
    Settle(*a.job, a.unit, a.outcome, a.outcome == Outcome::kOk ? a.record.RankUs() : 0);
  }
  GrantLeases(request, reply);
  bool idle = reply.leases_size() == 0 && request.want() > 0;
  reply.set_next_seconds(idle ? 0.1 : options_.fleet.heartbeat_seconds);
  if (!accepted.empty() || reply.leases_size() > 0) work_.notify_all();
  return reply;
}

// ---- Users

Result<proto::SubmitJobReply> TuningService::SubmitJob(const proto::SubmitJobRequest& request) {
  Target target;
  if (!request.has_target()) {
    Lock lock(mutex_);
    std::set<std::string> kinds;
    for (const WorkerView& worker : fleet_.Workers()) {
      if (worker.health == Health::kSilent || worker.info.threads < request.threads()) continue;
      kinds.insert(worker.info.fingerprint);
      auto found = wire::FromProto(registrations_[worker.id].target());
      if (found.ok()) target = *found;
    }
    if (kinds.empty()) {
      return FailedPrecondition("no worker is connected that runs kernels of " +
                                std::to_string(request.threads()) +
                                " threads; start measure-worker --server with this server's "
                                "address and --threads, or name a target");
    }
    if (kinds.size() > 1) {
      return FailedPrecondition("workers of " + std::to_string(kinds.size()) +
                                " targets are connected; name one with --target");
    }
  }
  TEMPER_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, MakeJob(request, target));
  std::string unique =
      request.request_id().empty()
          ? request.model() + std::to_string(clock_->UnixMillis()) + std::to_string(next_number_)
          : request.request_id();
  job->id = Sha256(unique).ShortHex();
  proto::SubmitJobReply reply;
  reply.set_job(job->id);
  *reply.mutable_target() = job->request.target();
  {
    Lock lock(mutex_);
    reply.set_workers(fleet_.ReadyWorkers(job->Needs()));
    if (FindJob(job->id) != nullptr) return reply;  // sent twice
  }
  db::Job stored;
  stored.id = job->id;
  stored.model = request.model();
  stored.state = db::JobState::kQueued;
  stored.request = job->request.SerializeAsString();
  stored.created_ms = stored.updated_ms = clock_->UnixMillis();
  Status put = store_->PutJob(stored);
  if (put.code() == Code::kAlreadyExists) return reply;  // of an earlier run of the server
  TEMPER_RETURN_IF_ERROR(put);
  log_.Info("job {}: {} with {} tasks", job->id, request.model(), request.tasks_size());
  TEMPER_RETURN_IF_ERROR(AddJob(std::move(job)));
  return reply;
}

Status TuningService::AddJob(std::unique_ptr<Job> job) {
  Lock lock(mutex_);
  job->number = next_number_++;
  job->status.set_job(job->id);
  job->status.set_phase(PhaseOf(job->state));
  job->status.set_workers(fleet_.ReadyWorkers(job->Needs()));
  jobs_.push_back(std::move(job));
  work_.notify_all();
  return OkStatus();
}

Result<proto::JobStatus> TuningService::WatchJob(const proto::WatchJobRequest& request) {
  double wait =
      std::isfinite(request.wait_seconds()) ? std::clamp(request.wait_seconds(), 0.0, 10.0) : 0.0;
  Lock lock(mutex_);
  Job* job = FindJob(request.job());
  if (job == nullptr) {
    lock.unlock();
    // A finished job of an earlier run.
    TEMPER_ASSIGN_OR_RETURN(db::Job stored, store_->GetJob(request.job()));
    proto::JobStatus status;
    if (!status.ParseFromString(stored.progress)) return DataLoss("the job's state is damaged");
    status.set_job(stored.id);
    status.set_model(stored.model);
    status.set_phase(PhaseOf(stored.state));
    status.set_message(stored.message);
    return status;
  }
  news_.wait_for(lock, std::chrono::duration<double>(wait), [&] {
    return stopping_ || job->status.version() > request.version() || db::IsFinished(job->state);
  });
  if (stopping_) return Unavailable("the server is stopping; the job goes on when it is back");
  return job->status;
}

Result<proto::JobStatus> TuningService::CancelJob(const proto::CancelJobRequest& request) {
  Lock lock(mutex_);
  Job* job = FindJob(request.job());
  if (job == nullptr) return NotFound("there is no unfinished job " + request.job());
  if (!db::IsFinished(job->state)) {
    job->cancelled = true;
    work_.notify_all();
    if (search_thread_.joinable()) {
      news_.wait(lock, [&] { return stopping_ || db::IsFinished(job->state); });
    }
  }
  return job->status;
}

Result<proto::ListJobsReply> TuningService::ListJobs() {
  proto::ListJobsReply reply;
  TEMPER_ASSIGN_OR_RETURN(auto stored, store_->ListJobs(false));
  Lock lock(mutex_);
  for (const db::Job& entry : stored) {
    if (Job* job = FindJob(entry.id); job != nullptr) {
      *reply.add_jobs() = job->status;
      continue;
    }
    proto::JobStatus* status = reply.add_jobs();
    if (!status->ParseFromString(entry.progress)) status->Clear();
    status->set_job(entry.id);
    status->set_model(entry.model);
    status->set_phase(PhaseOf(entry.state));
    status->set_message(entry.message);
  }
  return reply;
}

Result<proto::QueryReply> TuningService::Query(const proto::QueryRequest& request) {
  constexpr int kMaxWorkloads = 10000;
  if (request.workloads_size() > kMaxWorkloads) return InvalidArgument("too many workloads");
  size_t limit = request.limit() > 0 ? static_cast<size_t>(request.limit()) : 1000;
  db::RecordFilter filter;
  if (!request.micro_architecture().empty()) {
    filter.micro_architecture = request.micro_architecture();
  } else if (!request.target().empty()) {
    filter.target = request.target();
  }
  if (request.threads() > 0) filter.threads = request.threads();
  std::vector<std::optional<Hash>> workloads;
  for (const std::string& bytes : request.workloads()) {
    TEMPER_ASSIGN_OR_RETURN(Hash hash, Hash::FromBytes(bytes));
    workloads.emplace_back(hash);
  }
  if (workloads.empty()) workloads.emplace_back(std::nullopt);
  proto::QueryReply reply;
  for (const auto& workload : workloads) {
    filter.workload = workload;
    TEMPER_ASSIGN_OR_RETURN(auto summaries, store_->Summaries(filter));
    for (const db::KeySummary& summary : summaries) {
      if (static_cast<size_t>(reply.records_size()) >= limit) return reply;
      proto::QueryRecord* record = reply.add_records();
      record->set_workload(std::string(summary.key.workload.AsBytes()));
      record->set_target(summary.key.target);
      record->set_threads(summary.key.threads);
      record->set_numerics(summary.key.numerics);
      record->set_warm_constants(summary.key.constants == Constants::kWarm);
      record->set_task_name(summary.task_name);
      record->set_trials(summary.trials);
      record->set_micro_architecture(summary.micro_architecture);
      if (!summary.best.has_value()) continue;
      record->set_best_us(summary.best->RankUs());
      record->set_gflops(summary.flops / summary.best->RankUs() * 1e-3);
      record->set_schedule(summary.best->schedule);
      record->set_worker(summary.best->worker);
      record->set_created_ms(summary.best->created_ms);
      record->set_target_text(summary.best->target_text);
      record->set_workload_text(summary.best->workload_text);
    }
  }
  return reply;
}

Result<proto::GetModelReply> TuningService::GetModel(const proto::GetModelRequest& request) {
  proto::GetModelReply reply;
  TEMPER_ASSIGN_OR_RETURN(
      auto found,
      store_->GetModel(request.target(), request.micro_architecture(), request.features_version()));
  if (!found) return reply;
  reply.set_model(std::move(found->bytes));
  reply.set_target(found->target);
  reply.set_programs(found->programs);
  return reply;
}

Result<proto::ListDevicesReply> TuningService::ListDevices() {
  Lock lock(mutex_);
  proto::ListDevicesReply reply;
  for (const WorkerView& worker : fleet_.Workers()) {
    const proto::RegisterRequest& registration = registrations_[worker.id];
    proto::Device* device = reply.add_devices();
    device->set_name(worker.info.name);
    *device->mutable_target() = registration.target();
    device->set_fingerprint(worker.info.fingerprint);
    *device->mutable_cores() = registration.cores();
    device->set_threads(worker.info.threads);
    device->set_unsandboxed(registration.unsandboxed());
    device->set_control_gflops(registration.control_gflops());
    device->set_done(static_cast<int64_t>(worker.done));
    device->set_leased(worker.leased);
    device->set_seen_seconds_ago(worker.seen_seconds_ago);
    device->set_health(std::string(HealthName(worker.health)));
  }
  return reply;
}

}  // namespace temper::tuner
