// What the verbs ask of a tuner-server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/constants.h"
#include "base/hash.h"
#include "base/status.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/te/alternatives.h"

namespace temper::tools {

// The best that is known under one key: a line of `temper query`.
struct KnownBest {
  Hash workload;
  std::string target;  // fingerprint
  std::string micro_architecture;
  int threads = 1;
  std::string task_name;
  double best_us = 0;  // 0: nothing worked
  double gflops = 0;
  int64_t trials = 0;
  std::string schedule = {};
  std::string worker = {};
  int64_t created_ms = 0;  // since 1970, UTC
  std::string numerics = {};
  Constants constants = Constants::kCold;  // where large ones were
};

// Which of them; an empty field means any.
struct KnownFilter {
  std::vector<Hash> workloads;
  std::string target;              // fingerprint
  std::string micro_architecture;  // with `target`: records of similar targets too
  int threads = 0;
};

// A worker that the server knows.
struct Worker {
  std::string name, target, fingerprint, health;
  std::vector<int> cores;
  int threads = 1;
  bool unsandboxed = false;
  double control_gflops = 0;
  int64_t done = 0;
  int leased = 0;
  double seen_seconds_ago = 0;
};

class ServerClient {
 public:
  virtual ~ServerClient() = default;
  virtual Result<std::vector<KnownBest>> Query(const KnownFilter& filter) = 0;
  virtual Result<std::vector<Worker>> Workers() = 0;
  // The cost model of a target as costmodel saves it, of this program's features version; empty
  // where there is none.
  virtual Result<std::string> CostModelOf(const Target& target) = 0;
  virtual const std::string& address() const = 0;
};

// `address` is HOST:PORT. UNAVAILABLE, naming it, where nothing answers there within ten seconds.
Result<std::unique_ptr<ServerClient>> ConnectServer(const std::string& address);

// Schedules that the server knows and `numerics` allows. `client` is borrowed.
std::unique_ptr<driver::ScheduleSource> MakeServerSource(
    ServerClient* client, te::Numerics numerics = te::kDefaultNumerics);

}  // namespace temper::tools
