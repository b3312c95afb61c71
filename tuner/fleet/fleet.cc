#include "tuner/fleet/fleet.h"

#include <algorithm>
#include <utility>

namespace temper::tuner {

std::string_view HealthName(Health health) {
  switch (health) {
    case Health::kReady:
      return "ready";
    case Health::kSilent:
      return "silent";
    case Health::kStalled:
      return "stalled";
    case Health::kQuarantined:
      return "quarantined";
    case Health::kDraining:
      return "draining";
  }
  return "unknown";
}

Fleet::Fleet(FleetOptions options, const Clock* clock) : options_(options), clock_(clock) {}

WorkerId Fleet::Register(WorkerInfo info) {
  WorkerId id = next_id_++;
  Worker worker;
  worker.info = std::move(info);
  worker.seen = worker.progressed = clock_->NowSeconds();
  workers_.emplace(id, std::move(worker));
  return id;
}

Status Fleet::Heartbeat(WorkerId id, uint64_t done, bool draining) {
  auto it = workers_.find(id);
  if (it == workers_.end()) return NotFound("no such worker is registered; register again");
  Worker& worker = it->second;
  double now = clock_->NowSeconds();
  worker.seen = now;
  if (done != worker.done_reported || worker.leased == 0) worker.progressed = now;
  worker.done_reported = done;
  worker.draining = draining;
  return OkStatus();
}

Health Fleet::HealthOf(const Worker& worker) const {
  double now = clock_->NowSeconds();
  if (now - worker.seen > options_.lease_seconds) return Health::kSilent;
  if (worker.draining) return Health::kDraining;
  if (now < worker.quarantined_until) return Health::kQuarantined;
  if (now - worker.progressed > options_.stall_seconds) return Health::kStalled;
  return Health::kReady;
}

UnitId Fleet::Add(uint64_t job, Requirement requirement) {
  UnitId id = next_id_++;
  Unit unit;
  unit.job = job;
  unit.requirement = std::move(requirement);
  units_.emplace(id, std::move(unit));
  fresh_.push_back(id);
  return id;
}

std::vector<Grant> Fleet::Lease(WorkerId id, int count) {
  std::vector<Grant> grants;
  auto it = workers_.find(id);
  if (it == workers_.end() || HealthOf(it->second) != Health::kReady) return grants;
  Worker& worker = it->second;
  if (worker.leased == 0) worker.progressed = clock_->NowSeconds();
  for (std::deque<UnitId>* queue : {&again_, &fresh_}) {
    for (size_t i = 0; i < queue->size() && static_cast<int>(grants.size()) < count;) {
      auto found = units_.find((*queue)[i]);
      if (found == units_.end() || found->second.holder != 0) {  // cancelled
        queue->erase(queue->begin() + static_cast<ptrdiff_t>(i));
        continue;
      }
      Unit& unit = found->second;
      if (unit.requirement.fingerprint != worker.info.fingerprint ||
          unit.requirement.threads > worker.info.threads) {
        ++i;
        continue;
      }
      unit.holder = id;
      ++unit.epoch;
      ++worker.leased;
      grants.push_back({found->first, unit.epoch});
      queue->erase(queue->begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return grants;
}

Fleet::Verdict Fleet::Check(WorkerId worker, UnitId id, uint64_t epoch) const {
  auto it = units_.find(id);
  bool current = it != units_.end() && it->second.holder == worker && it->second.epoch == epoch;
  return current ? Verdict::kCurrent : Verdict::kStale;
}

void Fleet::Complete(WorkerId id, UnitId unit) {
  auto worker = workers_.find(id);
  if (worker != workers_.end()) {
    --worker->second.leased;
    ++worker->second.done;
    worker->second.faults = 0;
  }
  units_.erase(unit);
}

void Fleet::Release(Worker* worker, UnitId id, Unit& unit, bool attempted,
                    const std::string& reason) {
  if (worker != nullptr) --worker->leased;
  unit.holder = 0;
  if (!attempted) {
    fresh_.push_front(id);
    return;
  }
  unit.reason = reason;
  if (++unit.attempts >= options_.max_attempts) {
    retired_.push_back({id, reason});
    units_.erase(id);
    return;
  }
  again_.push_back(id);
}

void Fleet::Fault(WorkerId id, UnitId unit_id, const std::string& reason) {
  auto it = workers_.find(id);
  Worker* worker = it != workers_.end() ? &it->second : nullptr;
  if (worker != nullptr && ++worker->faults >= options_.quarantine_after) {
    worker->quarantined_until = clock_->NowSeconds() + options_.quarantine_seconds;
    worker->faults = 0;
  }
  Release(worker, unit_id, units_.at(unit_id), true, reason);
}

void Fleet::Return(WorkerId id, UnitId unit_id, uint64_t epoch) {
  if (Check(id, unit_id, epoch) != Verdict::kCurrent) return;
  auto it = workers_.find(id);
  Release(it != workers_.end() ? &it->second : nullptr, unit_id, units_.at(unit_id), false, "");
}

std::vector<Retired> Fleet::Expire() {
  double now = clock_->NowSeconds();
  for (auto& [id, worker] : workers_) {
    if (worker.leased == 0) continue;
    Health health = HealthOf(worker);
    bool stalled = now - worker.progressed > options_.stall_seconds;
    if (health != Health::kSilent && !stalled) continue;
    std::string reason = "worker " + worker.info.name +
                         (health == Health::kSilent ? " stopped answering while it held the lease"
                                                    : " made no progress with what it held");
    std::vector<UnitId> held;
    for (const auto& [unit_id, unit] : units_) {
      if (unit.holder == id) held.push_back(unit_id);
    }
    for (UnitId unit_id : held) Release(&worker, unit_id, units_.at(unit_id), true, reason);
  }
  std::erase_if(workers_, [&](const auto& entry) {
    const Worker& worker = entry.second;
    double limit = worker.draining ? options_.lease_seconds : options_.forget_seconds;
    return worker.leased == 0 && now - worker.seen > limit;
  });
  return std::exchange(retired_, {});
}

void Fleet::Cancel(uint64_t job) {
  for (auto it = units_.begin(); it != units_.end();) {
    if (it->second.job != job) {
      ++it;
      continue;
    }
    if (it->second.holder != 0) {
      auto worker = workers_.find(it->second.holder);
      if (worker != workers_.end()) --worker->second.leased;
    }
    it = units_.erase(it);
  }
  auto gone = [&](UnitId id) { return units_.count(id) == 0; };
  std::erase_if(again_, gone);
  std::erase_if(fresh_, gone);
}

bool Fleet::Withdraw(UnitId id) {
  auto it = units_.find(id);
  if (it == units_.end() || it->second.holder != 0) return false;
  units_.erase(it);
  std::erase(again_, id);
  std::erase(fresh_, id);
  return true;
}

int Fleet::Waiting(uint64_t job) const {
  return static_cast<int>(std::count_if(units_.begin(), units_.end(), [&](const auto& entry) {
    return entry.second.job == job && entry.second.holder == 0;
  }));
}

int Fleet::Outstanding(uint64_t job) const {
  return static_cast<int>(std::count_if(
      units_.begin(), units_.end(), [&](const auto& entry) { return entry.second.job == job; }));
}

int Fleet::ReadyWorkers(const Requirement& requirement) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.info.fingerprint == requirement.fingerprint &&
           entry.second.info.threads >= requirement.threads &&
           HealthOf(entry.second) == Health::kReady;
  }));
}

std::vector<WorkerView> Fleet::Workers() const {
  std::vector<WorkerView> views;
  for (const auto& [id, worker] : workers_) {
    views.push_back({id, worker.info, HealthOf(worker), clock_->NowSeconds() - worker.seen,
                     worker.done, worker.leased});
  }
  return views;
}

}  // namespace temper::tuner
