// Builds and times what was leased: one thread feeds kernel-builder, one feeds measure-runner, so
// that the next candidates are built while one is timed.
//
// Where a core is left that nobody times on, builds run there, and a second kernel-builder builds
// on a timing core whenever nothing waits to be timed: building takes longer than timing. Where
// none is left, a build waits while a candidate is timed and the other way round.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/steadiness.h"
#include "proto/measure.pb.h"
#include "proto/runner.pb.h"
#include "worker/agent/servant.h"

namespace temper::agent {

struct PipelineOptions {
  std::string builder_program;
  std::string runner_program;
  bool sandboxed = true;
  proto::Target target;     // that is built for
  std::vector<int> cores;   // that are timed on; locked by the caller
  int threads = 1;          // of the kernels
  std::string lock_folder;  // of the cores' locks
  double timing_budget_seconds = 0.010;
  uint64_t memory_bytes = uint64_t{16} << 30;  // address space of each program
};

class Pipeline {
 public:
  Pipeline(PipelineOptions options, Logger log);
  ~Pipeline();

  // Thread-safe, all of them.
  void Add(proto::Lease lease);
  // Results so far; they are the caller's from now on.
  std::vector<proto::CandidateResult> TakeResults();
  // What disturbed the timings since the last call.
  proto::Disturbance TakeDisturbance();
  // Candidates added whose results were not yet taken.
  int Backlog() const;
  // Candidates finished since the start.
  uint64_t Done() const;
  // Forgets a candidate that was not begun. True: it was there.
  bool Drop(uint64_t unit, uint64_t epoch);
  // Forgets all that was not begun.
  std::vector<proto::HeldUnit> DropWaiting();
  // Waits until there are results or `seconds` have passed.
  void WaitForResults(double seconds);
  // Where the time went, for the log.
  std::string Summary() const;
  // Ends both programs and threads; what was begun has no result.
  void Stop();

 private:
  // Candidates that are measured together: one, or the final ones of a lease.
  struct Group {
    std::shared_ptr<const proto::Lease> lease;
    std::vector<proto::CandidateSpec> specs;
    std::vector<ScopedFd> objects;     // once built, in the order of specs
    std::vector<double> error_scales;  // once built
  };
  // What candidates of a workload are compared with; kept to prepare a new runner.
  struct Reference {
    uint64_t key = 0;
    std::string identity;  // workload hash and seed
    ScopedFd object;
    std::vector<proto::ExpectedElement> expected;
    std::string failure;  // why there is none
  };

  enum class Place { kFreeCores, kTimingCores };

  void BuildLoop();
  void HelpLoop();
  void RunLoop();
  void BuildGroup(Servant& builder, Place place, Group group);
  // Whether nothing waits to be timed and the next group can be built without a new reference.
  // REQUIRES mutex_.
  bool HelpIsWanted() const;
  void MeasureGroup(Servant& runner, std::set<uint64_t>& prepared, Group group);
  Answer CallRunner(Servant& runner, std::set<uint64_t>& prepared,
                    const proto::RunnerRequest& request, const std::vector<int>& fds,
                    double timeout, proto::RunnerReply* reply);
  std::shared_ptr<const Reference> FindReference(Servant& builder, Place place,
                                                 const proto::Lease& lease);
  std::shared_ptr<const Reference> LookupReference(const proto::Lease& lease) const;
  // The same. REQUIRES mutex_.
  std::shared_ptr<const Reference> KnownReference(const proto::Lease& lease) const;
  Outcome Build(Servant& builder, Place place, const proto::BuildRequest& request, double timeout,
                proto::BuildReply* reply, ScopedFd* object, std::string* message);
  std::vector<int> BuilderCores() const;
  void AddTime(double& sum, std::chrono::steady_clock::time_point start);
  void Finish(const proto::CandidateSpec& spec, proto::CandidateResult result);
  void FinishAll(const Group& group, Outcome outcome, const std::string& message);

  const PipelineOptions options_;
  Logger log_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<Group> to_build_;
  std::deque<Group> to_run_;
  bool timing_ = false;  // the run thread has a group
  std::vector<proto::CandidateResult> results_;
  proto::Disturbance disturbance_;  // `stolen` aside
  MachineTicks ticks_ = ReadMachineTicks();
  int backlog_ = 0;
  uint64_t done_ = 0;
  uint64_t next_key_ = 1;
  double reference_seconds_ = 0, build_seconds_ = 0, prepare_seconds_ = 0, run_seconds_ = 0;
  std::list<std::shared_ptr<const Reference>> references_;  // most recently used first

  std::mutex quiet_;  // held by whoever may disturb the other, where they share cores
  std::thread build_thread_, help_thread_, run_thread_;
};

}  // namespace temper::agent
