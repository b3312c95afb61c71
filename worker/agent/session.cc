#include "worker/agent/session.h"

#include <algorithm>
#include <set>

namespace temper::agent {
namespace {

// A worker asks again when it holds less than this share of what it may hold.
constexpr double kLowWater = 0.6;
// Results are gathered for so long before they are reported, unless work runs out.
constexpr double kGatherSeconds = 0.15;
constexpr double kIdlePollSeconds = 0.1;

bool MayPass(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded ||
         status.code() == Code::kResourceExhausted || status.code() == Code::kUnknown ||
         status.code() == Code::kInternal || status.code() == Code::kAborted;
}

}  // namespace

Session::Session(SessionOptions options, MeasureClient* client, Pipeline* pipeline, Clock* clock,
                 Logger log, uint64_t seed)
    : options_(std::move(options)),
      client_(client),
      pipeline_(pipeline),
      clock_(clock),
      log_(std::move(log)),
      rng_(seed) {}

void Session::WaitToRetry(const std::atomic<bool>& drain) {
  double wait = std::min(options_.first_retry_seconds * (1 << std::min(failures_, 10)),
                         options_.max_retry_seconds);
  wait *= 0.5 + rng_.Uniform01();  // so that a fleet does not come back in step
  ++failures_;
  for (double end = clock_->NowSeconds() + wait; clock_->NowSeconds() < end && !drain;) {
    clock_->SleepSeconds(std::min(0.1, wait));
  }
}

Status Session::RegisterUntilAccepted(const std::atomic<bool>& drain) {
  while (!drain) {
    auto reply = client_->Register(options_.registration);
    if (reply.ok()) {
      if (failures_ > 0) log_.Info("the server answers again");
      failures_ = 0;
      worker_ = reply->worker();
      heartbeat_seconds_ = std::clamp(reply->heartbeat_seconds(), 0.1, 60.0);
      next_call_ = clock_->NowSeconds();
      // Leases of an earlier registration count no longer.
      pipeline_->DropWaiting();
      returned_.clear();
      unsettled_.clear();
      return OkStatus();
    }
    if (!MayPass(reply.status())) return reply.status();
    if (failures_ == 0) {
      log_.Warning("cannot reach the server: {}; trying again until it answers",
                   reply.status().message());
    }
    WaitToRetry(drain);
  }
  return OkStatus();
}

Status Session::SynchronizeOnce(bool draining) {
  proto::SynchronizeRequest request;
  request.set_worker(worker_);
  for (const auto& result : unsettled_) *request.add_results() = result;
  for (const auto& unit : returned_) *request.add_returned() = unit;
  if (!unsettled_.empty()) *request.mutable_disturbance() = pipeline_->TakeDisturbance();
  request.set_done(pipeline_->Done());
  request.set_draining(draining);
  int held = pipeline_->Backlog();
  if (!draining) request.set_want(std::max(0, options_.depth - held));
  auto reply = client_->Synchronize(request);
  if (!reply.ok()) return reply.status();
  failures_ = 0;
  returned_.clear();
  std::set<std::pair<uint64_t, uint64_t>> settled;
  for (const proto::HeldUnit& unit : reply->settled()) settled.insert({unit.unit(), unit.epoch()});
  std::erase_if(unsettled_, [&](const proto::CandidateResult& result) {
    return settled.count({result.unit(), result.epoch()}) > 0;
  });
  for (const proto::HeldUnit& unit : reply->revoked()) pipeline_->Drop(unit.unit(), unit.epoch());
  for (proto::Lease& lease : *reply->mutable_leases()) pipeline_->Add(std::move(lease));
  double next = reply->next_seconds() > 0 ? reply->next_seconds() : heartbeat_seconds_;
  // With nothing to do, the server is asked again soon: work may come at any moment.
  if (pipeline_->Backlog() == 0 && !draining) next = std::min(next, kIdlePollSeconds);
  next_call_ = clock_->NowSeconds() + std::min(next, heartbeat_seconds_);
  return OkStatus();
}

Status Session::Run(const std::atomic<bool>& drain) {
  TEMPER_RETURN_IF_ERROR(RegisterUntilAccepted(drain));
  bool draining = false;
  double first_result = -1;  // when the oldest unreported result was seen
  int drain_failures = 0;
  while (true) {
    if (drain && !draining) {
      draining = true;
      for (auto& unit : pipeline_->DropWaiting()) returned_.push_back(std::move(unit));
      next_call_ = clock_->NowSeconds();
    }
    for (auto& result : pipeline_->TakeResults()) unsettled_.push_back(std::move(result));
    double now = clock_->NowSeconds();
    if (unsettled_.empty()) first_result = -1;
    if (!unsettled_.empty() && first_result < 0) first_result = now;
    bool low =
        !draining && pipeline_->Backlog() < options_.depth * kLowWater && pipeline_->Backlog() > 0;
    bool report = first_result >= 0 && (now - first_result >= kGatherSeconds || low || draining);
    if (draining && pipeline_->Backlog() == 0 && unsettled_.empty() && returned_.empty()) {
      Status last = worker_ != 0 ? SynchronizeOnce(true) : OkStatus();
      if (!last.ok()) log_.Warning("the server was not told of the end: {}", last.message());
      return OkStatus();
    }
    if (!report && now < next_call_) {
      double wait = next_call_ - now;
      if (first_result >= 0) wait = std::min(wait, first_result + kGatherSeconds - now);
      pipeline_->WaitForResults(std::clamp(wait, 0.002, 0.1));
      // WaitForResults returns at once while results are there, so gathering needs a pause.
      if (first_result >= 0) clock_->SleepSeconds(0.005);
      continue;
    }
    Status status = SynchronizeOnce(draining);
    if (status.ok()) {
      first_result = -1;
      continue;
    }
    if (draining && ++drain_failures >= 3) {
      log_.Warning("{} results could not be reported: {}", unsettled_.size(), status.message());
      return OkStatus();
    }
    if (status.code() == Code::kNotFound) {
      log_.Info("the server does not know this worker any more; registering again");
      WaitToRetry(drain);
      TEMPER_RETURN_IF_ERROR(RegisterUntilAccepted(drain));
      continue;
    }
    if (!MayPass(status)) return status;
    if (failures_ == 0) log_.Warning("cannot reach the server: {}", status.message());
    WaitToRetry(drain);
  }
}

}  // namespace temper::agent
