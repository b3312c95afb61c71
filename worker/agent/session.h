// The worker's side of the conversation with the server: register, take leases, report, and start
// again when the server forgot us or went away.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "proto/measure.pb.h"
#include "worker/agent/pipeline.h"

namespace temper::agent {

// The server, as far as a worker sees it.
class MeasureClient {
 public:
  virtual ~MeasureClient() = default;
  virtual Result<proto::RegisterReply> Register(const proto::RegisterRequest& request) = 0;
  virtual Result<proto::SynchronizeReply> Synchronize(const proto::SynchronizeRequest& request) = 0;
};

// Over gRPC without encryption, for loopback. `address` is HOST:PORT.
std::unique_ptr<MeasureClient> MakeGrpcClient(const std::string& address);

struct SessionOptions {
  proto::RegisterRequest registration;
  int depth = 16;  // candidates held at a time
  double first_retry_seconds = 0.5;
  double max_retry_seconds = 15;
};

class Session {
 public:
  // All borrowed.
  Session(SessionOptions options, MeasureClient* client, Pipeline* pipeline, Clock* clock,
          Logger log, uint64_t seed);

  // Runs until `drain` is set, then finishes what was begun, reports it and returns. OK, or why the
  // server refuses this worker.
  Status Run(const std::atomic<bool>& drain);

 private:
  Status RegisterUntilAccepted(const std::atomic<bool>& drain);
  Status SynchronizeOnce(bool draining);
  void WaitToRetry(const std::atomic<bool>& drain);

  SessionOptions options_;
  MeasureClient* client_;
  Pipeline* pipeline_;
  Clock* clock_;
  Logger log_;
  Rng rng_;
  uint64_t worker_ = 0;
  double heartbeat_seconds_ = 5;
  double next_call_ = 0;
  int failures_ = 0;  // in a row
  std::vector<proto::CandidateResult> unsettled_;
  std::vector<proto::HeldUnit> returned_;
};

}  // namespace temper::agent
