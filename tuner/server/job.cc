#include "tuner/server/job.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "compiler/te/constants.h"
#include "compiler/wire/measurable.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_target.h"
#include "costmodel/features.h"

namespace temper::tuner {
namespace {

constexpr int kMaxTasks = 2000;
constexpr size_t kMaxName = 256;
constexpr int kMaxSamples = 64;
constexpr double kMaxPeaks = 10;

}  // namespace

Result<std::unique_ptr<Job>> MakeJob(const proto::SubmitJobRequest& request, const Target& target) {
  if (request.tasks_size() == 0) {
    return InvalidArgument("the model has no kernel to tune");
  }
  if (request.tasks_size() > kMaxTasks) {
    return InvalidArgument(fmt::format("{} tasks are more than the {} that a job may have",
                                       request.tasks_size(), kMaxTasks));
  }
  if (request.threads() < 1 || request.threads() > 1024) {
    return InvalidArgument("threads must be 1 to 1024");
  }
  bool seconds_good = std::isfinite(request.seconds()) && request.seconds() >= 0;
  if (request.trials() < 0 || !seconds_good || (request.trials() == 0 && request.seconds() == 0)) {
    return InvalidArgument("a job needs a budget: a number of trials, of seconds, or both");
  }
  if (request.model().size() > kMaxName || request.request_id().size() > kMaxName) {
    return InvalidArgument("the model's name is too long");
  }
  const auto numerics =
      request.numerics().empty() ? te::kDefaultNumerics : te::ParseNumerics(request.numerics());
  if (!numerics) return InvalidArgument("numerics must be strict, balanced or fast");
  auto job = std::make_unique<Job>();
  job->request = request;
  job->numerics = *numerics;
  job->target = target;
  if (request.has_target()) {
    TEMPER_ASSIGN_OR_RETURN(job->target, wire::FromProto(request.target()));
  }
  *job->request.mutable_target() = wire::ToProto(job->target);
  job->fingerprint = Fingerprint(job->target);
  job->target_text = TargetText(job->target);
  for (const proto::TaskSpec& spec : request.tasks()) {
    std::string where = "task " + std::to_string(job->tasks.size());
    if (!(spec.weight() > 0) || !std::isfinite(spec.weight()) || spec.name().size() > kMaxName) {
      return InvalidArgument(where + " has no positive weight, or too long a name");
    }
    auto program = wire::FromProto(spec.workload());
    if (!program.ok()) return program.status().WithContext(where);
    TEMPER_RETURN_IF_ERROR(
        wire::CheckMeasurable(*program).WithContext(where + ", " + EscapeControl(spec.name())));
    JobTask task;
    task.name = spec.name();
    task.program = te::Canonicalize(*program);
    task.text = te::CanonicalText(task.program);
    task.hash = te::WorkloadHash(task.program);
    task.flops = te::FlopCount(task.program);
    task.weight = spec.weight();
    task.constants =
        te::ConstantsOf(task.program, spec.warm_constants() ? Constants::kWarm : Constants::kCold);
    task.workload = wire::ToProto(task.program);
    proto::TaskStatus* status = job->status.add_tasks();
    status->set_name(task.name);
    status->set_workload(task.hash.Hex());
    status->set_weight(task.weight);
    status->set_warm_constants(task.constants == Constants::kWarm);
    job->tasks.push_back(std::move(task));
  }
  job->status.set_model(request.model());
  job->status.set_version(1);
  return job;
}

Status CheckResult(const Job& job, const Candidate& candidate, const proto::CandidateResult& result,
                   const proto::RegisterRequest& worker) {
  if (result.outcome() != proto::OUTCOME_OK) return OkStatus();
  auto positive = [](double v) { return std::isfinite(v) && v > 0; };
  bool sane = positive(result.median_us()) && positive(result.drift()) && result.drift() < 1000 &&
              std::isfinite(result.spread()) && result.spread() >= 0 &&
              std::isfinite(result.control_us()) && result.control_us() >= 0 &&
              result.samples_size() >= 1 && result.samples_size() <= kMaxSamples;
  for (float sample : result.samples()) sane = sane && positive(sample);
  if (!sane) return InvalidArgument("the worker sent times that make no sense");
  double gflops = job.tasks[static_cast<size_t>(candidate.task)].flops / result.median_us() * 1e-3;
  double peak = worker.control_gflops() * candidate.schedule.threads;
  if (peak > 0 && gflops > kMaxPeaks * peak) {
    return InvalidArgument(
        fmt::format("the worker says {:.0f} GFLOP/s of a peak of {:.0f}", gflops, peak));
  }
  return OkStatus();
}

db::Record MakeRecord(const Job& job, const Candidate& candidate,
                      const proto::CandidateResult& result, Outcome outcome,
                      const proto::RegisterRequest& worker, int64_t now_ms) {
  const JobTask& task = job.tasks[static_cast<size_t>(candidate.task)];
  db::Record record;
  record.key = {task.hash, job.fingerprint, job.request.threads(),
                std::string(te::Name(te::NumericsOf(candidate.schedule.alternative))),
                task.constants};
  record.schedule_hash = schedule::ScheduleHash(candidate.schedule);
  record.workload_text = task.text;
  record.task_name = task.name;
  record.flops = task.flops;
  record.micro_architecture = MicroArchitecture(job.target);
  record.target_text = job.target_text;
  record.schedule = schedule::ToText(candidate.schedule);
  record.outcome = outcome;
  record.detail = result.message().substr(0, 1000);
  for (char& c : record.detail) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
  }
  if (outcome == Outcome::kOk) {
    record.detail.clear();
    record.median_us = result.median_us();
    record.samples.assign(result.samples().begin(), result.samples().end());
    record.spread = result.spread();
    record.control_us = result.control_us();
    record.drift = result.drift();
  }
  record.worker = worker.name();
  record.compiler_version = worker.compiler_version();
  record.features_version = costmodel::kFeaturesVersion;
  record.seed = job.request.seed();
  record.unsandboxed = worker.unsandboxed();
  record.created_ms = now_ms;
  return record;
}

proto::JobPhase PhaseOf(db::JobState state) {
  return static_cast<proto::JobPhase>(static_cast<int>(state) + 1);
}

void Publish(Job& job, const TunerState& state, int workers) {
  proto::JobStatus& status = job.status;
  status.set_job(job.id);
  status.set_phase(PhaseOf(job.state));
  status.set_trials(job.trials);
  status.set_seconds(job.seconds_before + state.elapsed_seconds);
  status.set_remaining_seconds(state.remaining_seconds);
  status.set_model_us(state.model_us);
  status.set_workers(workers);
  status.set_rank_correlation(state.rank_correlation);
  status.set_final_round(state.final_round);
  const Steadiness steadiness = job.timing.Judge();
  status.set_within(steadiness.within);
  status.set_warning(steadiness.warning);
  status.clear_outcomes();
  for (const auto& [outcome, count] : job.outcomes) {
    proto::OutcomeCount* entry = status.add_outcomes();
    entry->set_outcome(std::string(OutcomeName(outcome)));
    entry->set_count(count);
  }
  int tasks = std::min(status.tasks_size(), static_cast<int>(state.tasks.size()));
  for (int i = 0; i < tasks; ++i) {
    const TaskState& task = state.tasks[static_cast<size_t>(i)];
    proto::TaskStatus* entry = status.mutable_tasks(i);
    entry->set_best_us(task.best_us);
    entry->set_gflops(task.gflops);
    entry->set_share(task.share);
  }
  status.set_version(status.version() + 1);
  job.dirty = false;
}

}  // namespace temper::tuner
