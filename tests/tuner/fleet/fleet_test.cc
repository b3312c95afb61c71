#include "tuner/fleet/fleet.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace temper::tuner {
namespace {

const Requirement kHere{"target", 1};

class FleetTest : public ::testing::Test {
 protected:
  WorkerId NewWorker(const std::string& name = "w", int threads = 1) {
    return fleet_.Register({name, "target", threads});
  }
  std::vector<UnitId> AddUnits(int n, uint64_t job = 1) {
    std::vector<UnitId> units;
    for (int i = 0; i < n; ++i) units.push_back(fleet_.Add(job, kHere));
    return units;
  }
  FakeClock clock_;
  Fleet fleet_{FleetOptions{}, &clock_};
};

TEST_F(FleetTest, LeasesInOrderAndCompletes) {
  WorkerId w = NewWorker();
  auto units = AddUnits(3);
  auto grants = fleet_.Lease(w, 2);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].unit, units[0]);
  EXPECT_EQ(grants[1].unit, units[1]);
  EXPECT_EQ(fleet_.Waiting(1), 1);
  EXPECT_EQ(fleet_.Outstanding(1), 3);
  EXPECT_EQ(fleet_.Check(w, units[0], grants[0].epoch), Fleet::Verdict::kCurrent);
  fleet_.Complete(w, units[0]);
  EXPECT_EQ(fleet_.Check(w, units[0], grants[0].epoch), Fleet::Verdict::kStale)
      << "reporting twice changes nothing";
  EXPECT_EQ(fleet_.Outstanding(1), 2);
  EXPECT_EQ(fleet_.Workers()[0].done, 1u);
  EXPECT_EQ(fleet_.Workers()[0].leased, 1);
}

TEST_F(FleetTest, OnlyWorkersThatMeetTheRequirementGetIt) {
  WorkerId other = fleet_.Register({"other", "another target", 8});
  WorkerId single = NewWorker("single", 1);
  WorkerId twin = NewWorker("twin", 2);
  fleet_.Add(1, {"target", 2});
  EXPECT_EQ(fleet_.ReadyWorkers({"target", 2}), 1);
  EXPECT_EQ(fleet_.ReadyWorkers({"target", 1}), 2);
  EXPECT_TRUE(fleet_.Lease(other, 5).empty());
  EXPECT_TRUE(fleet_.Lease(single, 5).empty());
  EXPECT_EQ(fleet_.Lease(twin, 5).size(), 1u);
}

TEST_F(FleetTest, ASilentWorkersLeaseIsLeasedAgainUnderANewEpoch) {
  WorkerId dead = NewWorker("dead"), alive = NewWorker("alive");
  auto units = AddUnits(1);
  auto first = fleet_.Lease(dead, 1);
  ASSERT_EQ(first.size(), 1u);
  clock_.Advance(29);
  EXPECT_TRUE(fleet_.Heartbeat(alive, 0, false).ok());
  EXPECT_TRUE(fleet_.Expire().empty());
  EXPECT_TRUE(fleet_.Lease(alive, 1).empty());
  clock_.Advance(2);
  EXPECT_TRUE(fleet_.Expire().empty());
  auto second = fleet_.Lease(alive, 1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].unit, units[0]);
  EXPECT_GT(second[0].epoch, first[0].epoch);
  // The dead one comes back with its result: too late, whoever asks.
  EXPECT_EQ(fleet_.Check(dead, units[0], first[0].epoch), Fleet::Verdict::kStale);
  EXPECT_EQ(fleet_.Check(alive, units[0], first[0].epoch), Fleet::Verdict::kStale);
  EXPECT_EQ(fleet_.Check(alive, units[0], second[0].epoch), Fleet::Verdict::kCurrent);
}

TEST_F(FleetTest, AResultIsInTimeAsLongAsNobodyElseHasTheUnit) {
  WorkerId slow = NewWorker();
  auto units = AddUnits(1);
  auto grant = fleet_.Lease(slow, 1);
  clock_.Advance(100);
  EXPECT_EQ(fleet_.Check(slow, units[0], grant[0].epoch), Fleet::Verdict::kCurrent)
      << "nothing has expired it yet";
  fleet_.Expire();
  EXPECT_EQ(fleet_.Check(slow, units[0], grant[0].epoch), Fleet::Verdict::kStale);
}

TEST_F(FleetTest, ThreeFailedAttemptsRetireAUnitWithItsReason) {
  WorkerId w = NewWorker();
  auto units = AddUnits(1);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    auto grants = fleet_.Lease(w, 1);
    ASSERT_EQ(grants.size(), 1u) << attempt;
    fleet_.Fault(w, units[0], "reason " + std::to_string(attempt));
  }
  EXPECT_TRUE(fleet_.Lease(w, 1).empty());
  auto retired = fleet_.Expire();
  ASSERT_EQ(retired.size(), 1u);
  EXPECT_EQ(retired[0].unit, units[0]);
  EXPECT_EQ(retired[0].reason, "reason 3");
  EXPECT_EQ(fleet_.Outstanding(1), 0);
  EXPECT_TRUE(fleet_.Expire().empty()) << "told once";
}

TEST_F(FleetTest, AUnitThatKillsItsWorkersIsRetiredToo) {
  auto units = AddUnits(1);
  std::vector<Retired> retired;
  for (int i = 0; i < 3; ++i) {
    WorkerId w = NewWorker("victim");
    ASSERT_EQ(fleet_.Lease(w, 1).size(), 1u);
    clock_.Advance(31);
    retired = fleet_.Expire();
  }
  ASSERT_EQ(retired.size(), 1u);
  EXPECT_NE(retired[0].reason.find("victim"), std::string::npos);
}

TEST_F(FleetTest, WhatWasTriedBeforeIsLeasedFirst) {
  WorkerId w = NewWorker();
  auto units = AddUnits(3);
  auto grants = fleet_.Lease(w, 1);
  fleet_.Fault(w, grants[0].unit, "bad luck");
  grants = fleet_.Lease(w, 2);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].unit, units[0]);
  EXPECT_EQ(grants[1].unit, units[1]);
}

TEST_F(FleetTest, AReturnedUnitCountsNoAttempt) {
  WorkerId w = NewWorker();
  auto units = AddUnits(1);
  for (int i = 0; i < 5; ++i) {
    auto grants = fleet_.Lease(w, 1);
    ASSERT_EQ(grants.size(), 1u);
    fleet_.Return(w, units[0], grants[0].epoch + 1);  // not the current lease: no effect
    EXPECT_EQ(fleet_.Waiting(1), 0);
    fleet_.Return(w, units[0], grants[0].epoch);
    EXPECT_EQ(fleet_.Waiting(1), 1);
  }
  EXPECT_TRUE(fleet_.Expire().empty());
}

TEST_F(FleetTest, LivenessWithoutProgressLosesTheLease) {
  WorkerId stuck = NewWorker("stuck"), other = NewWorker("other");
  AddUnits(1);
  ASSERT_EQ(fleet_.Lease(stuck, 1).size(), 1u);
  for (int i = 0; i < 40; ++i) {
    clock_.Advance(5);
    ASSERT_TRUE(fleet_.Heartbeat(stuck, 0, false).ok());
    ASSERT_TRUE(fleet_.Heartbeat(other, 0, false).ok());
    fleet_.Expire();
  }
  EXPECT_EQ(fleet_.Lease(other, 1).size(), 1u);
}

TEST_F(FleetTest, ProgressKeepsTheLease) {
  WorkerId busy = NewWorker("busy"), other = NewWorker("other");
  AddUnits(1);
  ASSERT_EQ(fleet_.Lease(busy, 1).size(), 1u);
  for (uint64_t i = 0; i < 80; ++i) {
    clock_.Advance(5);
    ASSERT_TRUE(fleet_.Heartbeat(busy, i / 10, false).ok());
    ASSERT_TRUE(fleet_.Heartbeat(other, 0, false).ok());
    fleet_.Expire();
  }
  EXPECT_TRUE(fleet_.Lease(other, 1).empty());
}

TEST_F(FleetTest, FaultsInARowQuarantineAWorkerForAWhile) {
  WorkerId bad = NewWorker("bad"), good = NewWorker("good");
  AddUnits(20);
  for (int i = 0; i < 6; ++i) {
    auto grants = fleet_.Lease(bad, 1);
    ASSERT_EQ(grants.size(), 1u) << i;
    fleet_.Fault(bad, grants[0].unit, "its disk is full");
  }
  EXPECT_TRUE(fleet_.Lease(bad, 1).empty());
  EXPECT_EQ(fleet_.Workers()[0].health, Health::kQuarantined);
  EXPECT_EQ(fleet_.Lease(good, 1).size(), 1u);
  for (int i = 0; i < 13; ++i) {
    clock_.Advance(5);
    ASSERT_TRUE(fleet_.Heartbeat(bad, 0, false).ok());
  }
  EXPECT_EQ(fleet_.Lease(bad, 1).size(), 1u);
}

TEST_F(FleetTest, AnUnknownOrForgottenWorkerMustRegister) {
  EXPECT_EQ(fleet_.Heartbeat(99, 0, false).code(), Code::kNotFound);
  WorkerId w = NewWorker();
  clock_.Advance(601);
  fleet_.Expire();
  EXPECT_EQ(fleet_.Heartbeat(w, 0, false).code(), Code::kNotFound);
  EXPECT_TRUE(fleet_.Workers().empty());
}

TEST_F(FleetTest, ADrainingWorkerGetsNothing) {
  WorkerId w = NewWorker();
  AddUnits(1);
  ASSERT_TRUE(fleet_.Heartbeat(w, 0, true).ok());
  EXPECT_TRUE(fleet_.Lease(w, 1).empty());
  EXPECT_EQ(fleet_.ReadyWorkers(kHere), 0);
}

TEST_F(FleetTest, CancelMakesResultsStaleAndLeavesOtherJobsAlone) {
  WorkerId w = NewWorker();
  auto mine = AddUnits(2, 1);
  auto others = AddUnits(1, 2);
  auto grants = fleet_.Lease(w, 1);
  fleet_.Cancel(1);
  EXPECT_EQ(fleet_.Check(w, mine[0], grants[0].epoch), Fleet::Verdict::kStale);
  EXPECT_EQ(fleet_.Workers()[0].leased, 0);
  grants = fleet_.Lease(w, 5);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].unit, others[0]);
}

TEST_F(FleetTest, WithdrawsOnlyWhatIsNotLeased) {
  WorkerId w = NewWorker();
  auto units = AddUnits(2);
  ASSERT_EQ(fleet_.Lease(w, 1).size(), 1u);
  EXPECT_FALSE(fleet_.Withdraw(units[0]));
  EXPECT_TRUE(fleet_.Withdraw(units[1]));
  EXPECT_FALSE(fleet_.Withdraw(units[1]));
  EXPECT_TRUE(fleet_.Lease(w, 1).empty());
  EXPECT_EQ(fleet_.Outstanding(1), 1);
}

// Whatever workers do, every unit ends exactly once: completed or retired.
TEST_F(FleetTest, EveryUnitIsAccountedForUnderChaos) {
  Rng rng(5);
  auto units = AddUnits(300);
  std::set<UnitId> open(units.begin(), units.end());
  struct Held {
    WorkerId worker;
    Grant grant;
  };
  std::vector<Held> held;
  std::vector<WorkerId> workers;
  uint64_t done = 0;
  for (int step = 0; step < 20000 && !open.empty(); ++step) {
    clock_.Advance(rng.Uniform01());
    for (const Retired& r : fleet_.Expire()) ASSERT_EQ(open.erase(r.unit), 1u);
    if (workers.size() < 4) workers.push_back(NewWorker());
    size_t i = rng.Uniform(workers.size());
    if (rng.Chance(0.002)) {  // killed
      workers.erase(workers.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    for (WorkerId w : workers) {
      if (!fleet_.Heartbeat(w, ++done, false).ok()) continue;
    }
    for (const Grant& g : fleet_.Lease(workers[i], 3)) held.push_back({workers[i], g});
    if (held.empty()) continue;
    size_t k = rng.Uniform(held.size());
    Held h = held[k];
    if (rng.Chance(0.7)) held.erase(held.begin() + static_cast<ptrdiff_t>(k));  // else: sent twice
    if (fleet_.Check(h.worker, h.grant.unit, h.grant.epoch) == Fleet::Verdict::kStale) continue;
    if (rng.Chance(0.1)) {
      fleet_.Fault(h.worker, h.grant.unit, "chance");
    } else if (rng.Chance(0.1)) {
      fleet_.Return(h.worker, h.grant.unit, h.grant.epoch);
    } else {
      fleet_.Complete(h.worker, h.grant.unit);
      ASSERT_EQ(open.erase(h.grant.unit), 1u);
    }
  }
  EXPECT_TRUE(open.empty()) << open.size() << " units were lost";
  EXPECT_EQ(fleet_.Outstanding(1), 0);
}

}  // namespace
}  // namespace temper::tuner
