// Workers and what they hold: leases, retries, health. Pure bookkeeping over a clock that is an
// argument; it knows nothing of the wire, of candidates or of the database.
//
// A unit is one candidate to be measured. A worker leases it under an epoch that grows with every
// lease of the unit, so that the result of an older lease is told from the current one's and
// dropped. A lease ends when the worker reports, returns or loses it: it has not called for
// `lease_seconds`, or calls but finishes nothing for `stall_seconds`. A unit whose lease was lost,
// or whose result is the infrastructure's fault, is leased again, `max_attempts` times in all; then
// it is retired with its last reason.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace temper::tuner {

using UnitId = uint64_t;
using WorkerId = uint64_t;

struct FleetOptions {
  double heartbeat_seconds = 5;
  double lease_seconds = 30;
  double stall_seconds = 180;
  double forget_seconds = 600;  // a silent worker is listed for so long
  int max_attempts = 3;
  int quarantine_after = 6;  // infrastructure faults in a row
  double quarantine_seconds = 60;
};

// Who can measure a unit: workers of that target that run so many threads.
struct Requirement {
  std::string fingerprint;
  int threads = 1;

  friend bool operator==(const Requirement&, const Requirement&) = default;
};

struct WorkerInfo {
  std::string name;
  std::string fingerprint;
  int threads = 1;
};

enum class Health {
  kReady,
  kSilent,       // has not called for a lease's time
  kStalled,      // calls, but finishes nothing of what it holds
  kQuarantined,  // too many faults of its own in a row: gets no work for a while
  kDraining,     // is about to leave
};
std::string_view HealthName(Health health);

struct WorkerView {
  WorkerId id = 0;
  WorkerInfo info;
  Health health = Health::kReady;
  double seen_seconds_ago = 0;
  uint64_t done = 0;  // results accepted
  int leased = 0;
};

struct Grant {
  UnitId unit = 0;
  uint64_t epoch = 0;
};

struct Retired {
  UnitId unit = 0;
  std::string reason;
};

class Fleet {
 public:
  // `clock` is borrowed.
  Fleet(FleetOptions options, const Clock* clock);

  WorkerId Register(WorkerInfo info);

  // A sign of life. `done` grows with every candidate the worker finishes. NOT_FOUND: it must
  // register (again).
  Status Heartbeat(WorkerId worker, uint64_t done, bool draining);

  // A unit to be measured. `job` groups units for Cancel and Waiting.
  UnitId Add(uint64_t job, Requirement requirement);

  // Up to `count` units for a worker, those that were tried before first, then in the order they
  // came. None for a worker that is not ready.
  std::vector<Grant> Lease(WorkerId worker, int count);

  enum class Verdict { kCurrent, kStale };
  // Whether a result is of the unit's current lease. Changes nothing: see Complete.
  Verdict Check(WorkerId worker, UnitId unit, uint64_t epoch) const;
  // The result is safe; the unit is forgotten. REQUIRES: Check says kCurrent.
  void Complete(WorkerId worker, UnitId unit);
  // The result was the infrastructure's fault. The unit is leased again, or retired (see Expire).
  // REQUIRES: Check says kCurrent.
  void Fault(WorkerId worker, UnitId unit, const std::string& reason);
  // The worker gives the unit back unmeasured: no attempt was made.
  void Return(WorkerId worker, UnitId unit, uint64_t epoch);

  // Takes back the leases of lost workers. Returns the units that are retired since the last call;
  // they are forgotten.
  std::vector<Retired> Expire();

  // Forgets a job's units; their results are stale from now on.
  void Cancel(uint64_t job);

  // Forgets a unit that is not leased. True: it was there.
  bool Withdraw(UnitId unit);

  int Waiting(uint64_t job) const;      // units not leased
  int Outstanding(uint64_t job) const;  // units, leased or not
  // Ready workers that meet it.
  int ReadyWorkers(const Requirement& requirement) const;
  std::vector<WorkerView> Workers() const;
  const FleetOptions& options() const { return options_; }

 private:
  struct Worker {
    WorkerInfo info;
    double seen = 0;
    double progressed = 0;  // when it last finished something or held nothing
    uint64_t done_reported = 0;
    uint64_t done = 0;
    int leased = 0;
    int faults = 0;  // in a row
    double quarantined_until = -1;
    bool draining = false;
  };
  struct Unit {
    uint64_t job = 0;
    Requirement requirement;
    uint64_t epoch = 0;
    int attempts = 0;
    WorkerId holder = 0;  // 0: waiting
    std::string reason;   // of the last failed attempt
  };

  Health HealthOf(const Worker& worker) const;
  void Release(Worker* worker, UnitId id, Unit& unit, bool attempted, const std::string& reason);

  FleetOptions options_;
  const Clock* clock_;
  std::map<WorkerId, Worker> workers_;
  std::map<UnitId, Unit> units_;
  std::deque<UnitId> again_;  // tried before
  std::deque<UnitId> fresh_;
  std::vector<Retired> retired_;
  uint64_t next_id_ = 1;
};

}  // namespace temper::tuner
