#include "worker/agent/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/core_lock.h"
#include "base/text.h"

namespace temper::agent {
namespace {

constexpr size_t kMaxBuilt = 6;        // groups built and not yet timed
constexpr size_t kMaxReferences = 64;  // kept with their objects
constexpr int kMaxInTurns = 4;
constexpr double kPrepareTimeout = 60;
constexpr int kCheckedElements = 64;

proto::Outcome ToProto(Outcome outcome) {
  return static_cast<proto::Outcome>(static_cast<int>(outcome) + 1);
}

std::string CoreList(const std::vector<int>& cores) {
  std::vector<std::string> pieces;
  for (int core : cores) pieces.push_back(std::to_string(core));
  return JoinStrings(pieces, ",");
}

std::string IdentityOf(const proto::Lease& lease) {
  return lease.workload_hash() + std::to_string(lease.seed());
}

sandbox::JailOptions BuilderJail(const PipelineOptions& options) {
  sandbox::JailOptions jail;
  jail.program = options.builder_program;
  if (!options.sandboxed) jail.arguments.push_back("--unfiltered");
  jail.limits.address_space_bytes = options.memory_bytes;
  jail.sandboxed = options.sandboxed;
  return jail;
}

sandbox::JailOptions RunnerJail(const PipelineOptions& options) {
  sandbox::JailOptions jail;
  jail.program = options.runner_program;
  jail.arguments = {"--threads=" + std::to_string(options.threads)};
  if (!options.cores.empty()) jail.arguments.push_back("--cores=" + CoreList(options.cores));
  if (!options.sandboxed) jail.arguments.push_back("--unfiltered");
  jail.limits.address_space_bytes = options.memory_bytes;
  jail.sandboxed = options.sandboxed;
  return jail;
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options, Logger log)
    : options_(std::move(options)), log_(std::move(log)) {
  build_thread_ = std::thread([this] { BuildLoop(); });
  if (!BuilderCores().empty()) help_thread_ = std::thread([this] { HelpLoop(); });
  run_thread_ = std::thread([this] { RunLoop(); });
}

Pipeline::~Pipeline() { Stop(); }

void Pipeline::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (build_thread_.joinable()) build_thread_.join();
  if (help_thread_.joinable()) help_thread_.join();
  if (run_thread_.joinable()) run_thread_.join();
}

void Pipeline::Add(proto::Lease lease) {
  auto shared = std::make_shared<const proto::Lease>(std::move(lease));
  std::lock_guard lock(mutex_);
  Group final_group{shared, {}, {}, {}};
  for (const proto::CandidateSpec& spec : shared->candidates()) {
    ++backlog_;
    if (!spec.final()) {
      to_build_.push_back({shared, {spec}, {}, {}});
      continue;
    }
    final_group.specs.push_back(spec);
    if (final_group.specs.size() == kMaxInTurns) {
      to_build_.push_back(std::exchange(final_group, Group{shared, {}, {}, {}}));
    }
  }
  if (!final_group.specs.empty()) to_build_.push_back(std::move(final_group));
  changed_.notify_all();
}

std::vector<proto::CandidateResult> Pipeline::TakeResults() {
  std::lock_guard lock(mutex_);
  backlog_ -= static_cast<int>(results_.size());
  return std::exchange(results_, {});
}

proto::Disturbance Pipeline::TakeDisturbance() {
  const MachineTicks now = ReadMachineTicks();
  std::lock_guard lock(mutex_);
  proto::Disturbance taken = std::exchange(disturbance_, {});
  if (now.all > ticks_.all) taken.set_stolen((now.stolen - ticks_.stolen) / (now.all - ticks_.all));
  ticks_ = now;
  return taken;
}

int Pipeline::Backlog() const {
  std::lock_guard lock(mutex_);
  return backlog_;
}

uint64_t Pipeline::Done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

bool Pipeline::Drop(uint64_t unit, uint64_t epoch) {
  std::lock_guard lock(mutex_);
  for (auto group = to_build_.begin(); group != to_build_.end(); ++group) {
    auto& specs = group->specs;
    auto it = std::find_if(specs.begin(), specs.end(), [&](const proto::CandidateSpec& spec) {
      return spec.unit() == unit && spec.epoch() == epoch;
    });
    if (it == specs.end()) continue;
    specs.erase(it);
    if (specs.empty()) to_build_.erase(group);
    --backlog_;
    return true;
  }
  return false;
}

std::vector<proto::HeldUnit> Pipeline::DropWaiting() {
  std::lock_guard lock(mutex_);
  std::vector<proto::HeldUnit> dropped;
  for (const Group& group : to_build_) {
    for (const proto::CandidateSpec& spec : group.specs) {
      proto::HeldUnit& unit = dropped.emplace_back();
      unit.set_unit(spec.unit());
      unit.set_epoch(spec.epoch());
    }
  }
  to_build_.clear();
  backlog_ -= static_cast<int>(dropped.size());
  return dropped;
}

std::string Pipeline::Summary() const {
  std::lock_guard lock(mutex_);
  return fmt::format(
      "{} candidates: {:.1f} s building, {:.1f} s running, {:.1f} s on references and {:.1f} s "
      "preparing them",
      done_, build_seconds_, run_seconds_, reference_seconds_, prepare_seconds_);
}

void Pipeline::WaitForResults(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return !results_.empty() || stopping_; });
}

void Pipeline::Finish(const proto::CandidateSpec& spec, proto::CandidateResult result) {
  result.set_unit(spec.unit());
  result.set_epoch(spec.epoch());
  std::lock_guard lock(mutex_);
  results_.push_back(std::move(result));
  ++done_;
  changed_.notify_all();
}

void Pipeline::AddTime(double& sum, std::chrono::steady_clock::time_point start) {
  std::lock_guard lock(mutex_);
  sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Pipeline::FinishAll(const Group& group, Outcome outcome, const std::string& message) {
  for (const proto::CandidateSpec& spec : group.specs) {
    proto::CandidateResult result;
    result.set_outcome(ToProto(outcome));
    result.set_message(message);
    Finish(spec, std::move(result));
  }
}

std::vector<int> Pipeline::BuilderCores() const {
  std::vector<int> others;
  for (int core : AllowedCores()) {
    if (std::find(options_.cores.begin(), options_.cores.end(), core) == options_.cores.end()) {
      others.push_back(core);
    }
  }
  return UnlockedCores(options_.lock_folder, others);
}

Outcome Pipeline::Build(Servant& builder, Place place, const proto::BuildRequest& request,
                        double timeout, proto::BuildReply* reply, ScopedFd* object,
                        std::string* message) {
  proto::BuildRequest with_cores = request;
  std::vector<int> cores;
  if (place == Place::kFreeCores) cores = BuilderCores();
  std::unique_lock quiet(quiet_, std::defer_lock);
  if (cores.empty()) {  // on a core that is timed on: build while nothing is timed
    cores = options_.cores;
    quiet.lock();
  }
  with_cores.mutable_cores()->Assign(cores.begin(), cores.end());
  auto start = std::chrono::steady_clock::now();
  Answer answer = builder.Call(with_cores.SerializeAsString(), {}, timeout);
  AddTime(request.has_schedule() ? build_seconds_ : reference_seconds_, start);
  if (answer.outcome != Outcome::kOk) {
    *message = "kernel-builder: " + answer.message;
    // That the builder dies of a candidate is the candidate's fault.
    if (answer.outcome == Outcome::kCrashed) return Outcome::kBuildFailed;
    if (answer.outcome == Outcome::kTimedOut) return Outcome::kBuildTimedOut;
    return answer.outcome;
  }
  if (!reply->ParseFromString(answer.frame.bytes)) {
    *message = "kernel-builder sent a malformed reply";
    return Outcome::kInfrastructure;
  }
  auto outcome = OutcomeFromInt(static_cast<int64_t>(reply->outcome()) - 1);
  *message = reply->message();
  if (!outcome.has_value()) return Outcome::kInfrastructure;
  if (*outcome == Outcome::kOk) {
    if (answer.frame.fds.empty()) {
      *message = "kernel-builder sent no object";
      return Outcome::kInfrastructure;
    }
    *object = std::move(answer.frame.fds[0]);
  }
  return *outcome;
}

std::shared_ptr<const Pipeline::Reference> Pipeline::LookupReference(
    const proto::Lease& lease) const {
  std::lock_guard lock(mutex_);
  return KnownReference(lease);
}

std::shared_ptr<const Pipeline::Reference> Pipeline::KnownReference(
    const proto::Lease& lease) const {
  std::string identity = IdentityOf(lease);
  for (const auto& reference : references_) {
    if (reference->identity == identity) return reference;
  }
  return nullptr;
}

std::shared_ptr<const Pipeline::Reference> Pipeline::FindReference(Servant& builder, Place place,
                                                                   const proto::Lease& lease) {
  if (auto known = LookupReference(lease); known != nullptr) return known;
  auto reference = std::make_shared<Reference>();
  reference->identity = IdentityOf(lease);
  proto::BuildRequest request;
  *request.mutable_workload() = lease.workload();
  *request.mutable_target() = options_.target;
  request.set_seed(lease.seed());
  request.set_elements(kCheckedElements);
  proto::BuildReply reply;
  std::string message;
  Outcome outcome =
      Build(builder, place, request, kPrepareTimeout, &reply, &reference->object, &message);
  if (outcome != Outcome::kOk) {
    reference->failure = "the reference kernel cannot be built: " + message;
  } else if (reply.workload_hash() != lease.workload_hash()) {
    reference->failure = "the workload is not the one whose hash came with it";
  }
  reference->expected.assign(reply.expected().begin(), reply.expected().end());
  // A failure may pass (a builder that was killed), so it is not kept.
  if (!reference->failure.empty()) return reference;
  std::lock_guard lock(mutex_);
  reference->key = next_key_++;
  references_.push_front(reference);
  if (references_.size() > kMaxReferences) references_.pop_back();
  return reference;
}

void Pipeline::BuildGroup(Servant& builder, Place place, Group group) {
  auto reference = FindReference(builder, place, *group.lease);
  if (!reference->failure.empty()) {
    return FinishAll(group, Outcome::kInfrastructure, reference->failure);
  }
  Group built{group.lease, {}, {}, {}};
  for (const proto::CandidateSpec& spec : group.specs) {
    proto::BuildRequest request;
    *request.mutable_workload() = group.lease->workload();
    *request.mutable_schedule() = spec.schedule();
    *request.mutable_target() = options_.target;
    proto::BuildReply reply;
    std::string message;
    ScopedFd object;
    Outcome outcome = Build(builder, place, request, group.lease->build_timeout_seconds(), &reply,
                            &object, &message);
    if (outcome != Outcome::kOk) {
      proto::CandidateResult result;
      result.set_outcome(ToProto(outcome));
      result.set_message(message);
      Finish(spec, std::move(result));
      continue;
    }
    built.specs.push_back(spec);
    built.objects.push_back(std::move(object));
    built.error_scales.push_back(reply.error_scale());
  }
  if (built.specs.empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || to_run_.size() < kMaxBuilt; });
  to_run_.push_back(std::move(built));
  changed_.notify_all();
}

void Pipeline::BuildLoop() {
  Servant builder(BuilderJail(options_));
  while (true) {
    Group group;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !to_build_.empty(); });
      if (stopping_) return;
      group = std::move(to_build_.front());
      to_build_.pop_front();
    }
    BuildGroup(builder, Place::kFreeCores, std::move(group));
  }
}

bool Pipeline::HelpIsWanted() const {
  return to_build_.size() > 1 && to_run_.empty() && !timing_ &&
         KnownReference(*to_build_.front().lease) != nullptr;
}

void Pipeline::HelpLoop() {
  Servant builder(BuilderJail(options_));
  while (true) {
    Group group;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || HelpIsWanted(); });
      if (stopping_) return;
      group = std::move(to_build_.front());
      to_build_.pop_front();
    }
    BuildGroup(builder, Place::kTimingCores, std::move(group));
  }
}

Answer Pipeline::CallRunner(Servant& runner, std::set<uint64_t>& prepared,
                            const proto::RunnerRequest& request, const std::vector<int>& fds,
                            double timeout, proto::RunnerReply* reply) {
  if (!runner.running()) prepared.clear();
  auto start = std::chrono::steady_clock::now();
  Answer answer = runner.Call(request.SerializeAsString(), fds, timeout);
  AddTime(request.has_measure() ? run_seconds_ : prepare_seconds_, start);
  if (!runner.running()) prepared.clear();
  if (answer.outcome == Outcome::kOk && !reply->ParseFromString(answer.frame.bytes)) {
    answer.outcome = Outcome::kInfrastructure;
    answer.message = "measure-runner sent a malformed reply";
    runner.Stop();
    prepared.clear();
  }
  return answer;
}

void Pipeline::MeasureGroup(Servant& runner, std::set<uint64_t>& prepared, Group group) {
  auto reference = LookupReference(*group.lease);
  if (reference == nullptr) {
    return FinishAll(group, Outcome::kInfrastructure, "the reference kernel was forgotten");
  }
  proto::RunnerRequest request;
  proto::MeasureRequest& measure = *request.mutable_measure();
  measure.set_key(reference->key);
  measure.set_incumbent_us(group.specs[0].incumbent_us());
  measure.set_precise(group.specs[0].final());
  measure.set_control_reference_us(group.lease->control_reference_us());
  measure.set_warm_constants(group.lease->warm_constants());
  measure.set_budget_seconds(options_.timing_budget_seconds *
                             (group.specs[0].final() ? 4.0 * group.specs.size() : 1.0));
  measure.mutable_error_scale()->Add(group.error_scales.begin(), group.error_scales.end());
  std::vector<int> fds;
  for (const ScopedFd& object : group.objects) fds.push_back(object.get());

  proto::RunnerReply reply;
  Answer answer;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (prepared.count(reference->key) == 0 || !runner.running()) {
      proto::RunnerRequest prepare;
      prepare.mutable_prepare()->set_key(reference->key);
      prepare.mutable_prepare()->set_seed(group.lease->seed());
      prepare.mutable_prepare()->mutable_expected()->Add(reference->expected.begin(),
                                                         reference->expected.end());
      answer =
          CallRunner(runner, prepared, prepare, {reference->object.get()}, kPrepareTimeout, &reply);
      std::string message = answer.message;
      bool good = answer.outcome == Outcome::kOk && reply.timings_size() == 1 &&
                  reply.timings(0).outcome() == proto::OUTCOME_OK;
      if (!good) {
        // What does not fit this machine is no fault of the worker, which has to serve others.
        bool memory = answer.outcome == Outcome::kOutOfMemory;
        if (answer.outcome == Outcome::kOk && reply.timings_size() == 1) {
          message = reply.timings(0).message();
          memory = reply.timings(0).outcome() == proto::OUTCOME_OUT_OF_MEMORY;
        }
        return FinishAll(group, memory ? Outcome::kOutOfMemory : Outcome::kInfrastructure,
                         "the reference kernel: " + message);
      }
      prepared.insert(reference->key);
    }
    reply.Clear();
    answer = CallRunner(runner, prepared, request, fds, group.lease->run_timeout_seconds(), &reply);
    if (answer.outcome != Outcome::kOk || !reply.unknown_key()) break;
    prepared.erase(reference->key);
  }
  if (answer.outcome != Outcome::kOk && group.specs.size() > 1) {
    // Which one it was shows when each is measured alone.
    for (size_t i = 0; i < group.specs.size(); ++i) {
      Group single{group.lease, {group.specs[i]}, {}, {group.error_scales[i]}};
      single.objects.push_back(std::move(group.objects[i]));
      MeasureGroup(runner, prepared, std::move(single));
    }
    return;
  }
  if (answer.outcome != Outcome::kOk) {
    return FinishAll(group, answer.outcome, "while it ran: " + answer.message);
  }
  {
    std::lock_guard lock(mutex_);
    disturbance_.set_timed_seconds(disturbance_.timed_seconds() + reply.timed_seconds());
    disturbance_.set_switches(disturbance_.switches() + static_cast<double>(reply.switches()));
  }
  for (size_t i = 0; i < group.specs.size(); ++i) {
    proto::CandidateResult result;
    if (static_cast<int>(i) >= reply.timings_size()) {
      result.set_outcome(proto::OUTCOME_INFRASTRUCTURE);
      result.set_message("measure-runner left a candidate out");
    } else {
      const proto::Timing& timing = reply.timings(static_cast<int>(i));
      result.set_outcome(timing.outcome());
      result.set_message(timing.message());
      result.set_median_us(timing.median_us());
      *result.mutable_samples() = timing.samples();
      result.set_spread(timing.spread());
      result.set_control_us(timing.control_us());
      result.set_drift(timing.drift());
      result.set_stopped_early(timing.stopped_early());
    }
    Finish(group.specs[i], std::move(result));
  }
}

void Pipeline::RunLoop() {
  Servant runner(RunnerJail(options_));
  std::set<uint64_t> prepared;  // workloads that the running program knows
  while (true) {
    Group group;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !to_run_.empty(); });
      if (stopping_) return;
      group = std::move(to_run_.front());
      to_run_.pop_front();
      timing_ = true;
      changed_.notify_all();
    }
    {
      std::lock_guard quiet(quiet_);
      MeasureGroup(runner, prepared, std::move(group));
    }
    std::lock_guard lock(mutex_);
    timing_ = false;
    changed_.notify_all();
  }
}

}  // namespace temper::agent
