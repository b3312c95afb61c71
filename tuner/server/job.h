// One tuning job: what was asked, the search for it, what is being measured and what came of it.
// Plain data and conversions; the service (service.h) owns and locks it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/constants.h"
#include "db/job_store.h"
#include "db/record_store.h"
#include "db/store.h"
#include "proto/measure.pb.h"
#include "proto/tuner.pb.h"
#include "tuner/fleet/fleet.h"
#include "tuner/server/job_tuner.h"
#include "tuner/server/timing_watch.h"

namespace temper::tuner {

struct JobTask {
  std::string name;
  te::Program program;  // canonical
  Hash hash;
  std::string text;  // canonical
  double flops = 0;
  double weight = 1;
  Constants constants = Constants::kCold;  // timed with
  proto::Workload workload;
};

struct Job {
  std::string id;
  uint64_t number = 0;  // at the fleet
  proto::SubmitJobRequest request;
  Target target;
  std::string fingerprint;
  te::Numerics numerics = te::kDefaultNumerics;
  std::string target_text;
  std::vector<JobTask> tasks;
  db::JobState state = db::JobState::kQueued;

  std::unique_ptr<JobTuner> tuner;  // the search thread's alone

  // Guarded by the service's mutex.
  std::deque<Measured> inbox;              // results that the search has not seen
  std::map<UnitId, Candidate> candidates;  // being measured
  proto::JobStatus status;                 // as last published
  std::map<Outcome, int64_t> outcomes;     // of this job, earlier runs of the server included
  int64_t trials = 0;                      // the same, the final round aside
  TimingWatch timing;                      // whether the times can be repeated
  std::string fault;                       // why the latest candidate could not be measured
  double seconds_before = 0;               // spent before this run of the server
  double saved_at = 0;                     // when the progress was last stored
  double model_saved_at = 0;               // the same of the cost model; the search thread's
  bool cancelled = false;
  bool dirty = true;  // the status is to be published

  Requirement Needs() const { return {fingerprint, request.threads()}; }
};

// Checks a request and makes the job of it; INVALID_ARGUMENT names what is wrong. `target` is used
// where the request has none.
Result<std::unique_ptr<Job>> MakeJob(const proto::SubmitJobRequest& request, const Target& target);

// The record of a result. `accepted` is of a worker whose registration is `worker`.
db::Record MakeRecord(const Job& job, const Candidate& candidate,
                      const proto::CandidateResult& result, Outcome outcome,
                      const proto::RegisterRequest& worker, int64_t now_ms);

// OK, or why a result cannot be believed: numbers that are not finite or not positive, more
// arithmetic a second than ten of the worker's peaks.
Status CheckResult(const Job& job, const Candidate& candidate, const proto::CandidateResult& result,
                   const proto::RegisterRequest& worker);

// Writes the search's state into the job's status.
void Publish(Job& job, const TunerState& state, int workers);

proto::JobPhase PhaseOf(db::JobState state);

}  // namespace temper::tuner
