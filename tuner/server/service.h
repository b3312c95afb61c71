// The server without its network: jobs, workers and records brought together.
//
// Workers call Register and Synchronize, users the rest; each call returns at once or waits for a
// commit or, in WatchJob, for news. One thread of its own searches: it gives results to the jobs'
// searches and takes candidates from them, so that a lease finds them ready. A result is settled
// (the worker forgets it) only after its record is committed.
//
// Thread-safe, but for what is said of tests.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "db/store.h"
#include "proto/measure.pb.h"
#include "proto/tuner.pb.h"
#include "tuner/fleet/fleet.h"
#include "tuner/server/job.h"

namespace temper::tuner {

struct ServiceOptions {
  FleetOptions fleet;
  double build_timeout_seconds = 10;
  double run_timeout_seconds = 10;
  // Kept ready for each worker: few at first, when each result changes what is worth measuring.
  int first_ahead = 12;
  int candidates_ahead = 40;
  int propose_at_once = 32;
  double save_seconds = 2;         // how often a job's progress is stored
  double save_model_seconds = 30;  // how often its cost model is, and once at its end
  std::string core_lock_folder;    // the search keeps off cores that are locked there; empty: not
};

class TuningService {
 public:
  // All but the factory are borrowed.
  TuningService(ServiceOptions options, db::Store* store, Clock* clock, TunerFactory factory,
                Logger log);
  ~TuningService();

  // Continues the unfinished jobs of the store. Call once, before anything else.
  Status Resume();
  // Starts the thread that searches; Stop() ends it and stores every job's progress.
  void Start();
  void Stop();

  Result<proto::RegisterReply> Register(const proto::RegisterRequest& request);
  Result<proto::SynchronizeReply> Synchronize(const proto::SynchronizeRequest& request);

  Result<proto::SubmitJobReply> SubmitJob(const proto::SubmitJobRequest& request);
  Result<proto::JobStatus> WatchJob(const proto::WatchJobRequest& request);
  Result<proto::JobStatus> CancelJob(const proto::CancelJobRequest& request);
  Result<proto::ListJobsReply> ListJobs();
  Result<proto::QueryReply> Query(const proto::QueryRequest& request);
  Result<proto::GetModelReply> GetModel(const proto::GetModelRequest& request);
  Result<proto::ListDevicesReply> ListDevices();

  // One round of the search thread; true: something was done. For tests, without Start().
  bool SearchOnce();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Accepted;

  // All of these REQUIRE that mutex_ is held.
  Job* FindJob(const std::string& id);
  void TakeResults(const proto::SynchronizeRequest& request, std::vector<Accepted>& accepted,
                   proto::SynchronizeReply& reply);
  void Settle(Job& job, UnitId unit, Outcome outcome, double us);
  void RetireLost(Lock& lock);
  void GrantLeases(const proto::SynchronizeRequest& request, proto::SynchronizeReply& reply);

  // The control kernel's time at a drift of 1, by which times of all workers and all hours are
  // normalized: that of the target's oldest record, or of the first result.
  Status FindControlReference(const std::string& fingerprint);

  Status AddJob(std::unique_ptr<Job> job);
  Status StartSearch(Job& job);
  bool SearchJob(Job& job);
  // A job that would be done, but none of whose candidates could be measured, fails with the
  // reason.
  void FinishJob(Job& job, db::JobState state, std::string message);
  void SaveProgress(Job& job);
  // The stored cost model of the job's target, empty where there is none that can be used.
  std::string LoadModel(const Job& job);
  // Stores what the job's search learned, if it learned anything.
  void SaveModel(Job& job);
  void SearchLoop();

  const ServiceOptions options_;
  db::Store* store_;
  Clock* clock_;
  TunerFactory factory_;
  Logger log_;

  std::mutex mutex_;
  std::condition_variable news_;  // a status changed
  std::condition_variable work_;  // the search has something to do
  bool stopping_ = false;
  Fleet fleet_;
  std::map<WorkerId, proto::RegisterRequest> registrations_;
  std::map<std::string, double> control_references_;  // by fingerprint: microseconds, see below
  std::vector<std::unique_ptr<Job>> jobs_;            // in the order submitted; pointers stay valid
  std::map<UnitId, Job*> unit_jobs_;
  uint64_t next_number_ = 1;
  std::thread search_thread_;
  double looked_for_cores_ = -1e9;
};

}  // namespace temper::tuner
