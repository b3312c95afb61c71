// What users ask of a tuner-server, over gRPC.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "proto/tuner.pb.h"

namespace temper::tuner {

// Calls have deadlines, and their errors the server's words. Thread-safe.
class TunerClient {
 public:
  virtual ~TunerClient() = default;
  virtual Result<proto::SubmitJobReply> SubmitJob(const proto::SubmitJobRequest& request) = 0;
  // Waits at the server, for request.wait_seconds at most.
  virtual Result<proto::JobStatus> WatchJob(const proto::WatchJobRequest& request) = 0;
  virtual Result<proto::JobStatus> CancelJob(const std::string& job) = 0;
  virtual Result<proto::ListJobsReply> ListJobs() = 0;
  virtual Result<proto::QueryReply> Query(const proto::QueryRequest& request) = 0;
  virtual Result<proto::GetModelReply> GetModel(const proto::GetModelRequest& request) = 0;
  virtual Result<proto::ListDevicesReply> ListDevices() = 0;
};

// `address` is HOST:PORT, else INVALID_ARGUMENT. UNAVAILABLE, naming it, when nobody answers there
// within `timeout_seconds`.
Result<std::unique_ptr<TunerClient>> ConnectTuner(const std::string& address,
                                                  double timeout_seconds = 8);

}  // namespace temper::tuner
