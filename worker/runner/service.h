// What measure-runner does with a request. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/file.h"
#include "proto/runner.pb.h"
#include "worker/runner/cold_constants.h"
#include "worker/runner/compare.h"
#include "worker/runner/control.h"
#include "worker/runner/operands.h"
#include "worker/runner/timing.h"

struct temper_pool;

namespace temper::runner {

// Workloads kept prepared, as many as a model has of them, since a search goes round all of them
// and preparing one takes as long as several candidates. The least recently used goes first.
inline constexpr size_t kMaxPrepared = 32;
// Bytes that all but the latest of them may hold.
inline constexpr int64_t kPreparedBytes = int64_t{1} << 30;

class RunnerService {
 public:
  // `threads` that kernels run on, this one included. `evict`: how a constant is taken out of the
  // caches, for tests.
  explicit RunnerService(int threads, Evictor evict = Evict);
  ~RunnerService();

  // Serves one request; `fds` came with it. Never fails: what is wrong is in the reply.
  proto::RunnerReply Serve(const proto::RunnerRequest& request, const std::vector<ScopedFd>& fds);

 private:
  struct Workload;
  struct Loaded;

  proto::Timing Prepare(const proto::PrepareRequest& request, int fd);
  Status PrepareWorkload(const proto::PrepareRequest& request, int fd, Workload& workload);
  void Measure(const proto::MeasureRequest& request, Workload& workload,
               const std::vector<ScopedFd>& fds, proto::RunnerReply& reply);
  // Loads, runs once and compares.
  Status Check(Workload& workload, int fd, double error_scale, Loaded& loaded,
               proto::Timing& timing);
  Workload* Find(uint64_t key);
  void ForgetOld();

  const Evictor evict_;
  temper_pool* pool_ = nullptr;
  ControlKernel control_;
  double control_reference_seconds_ = 0;
  std::list<std::unique_ptr<Workload>> workloads_;  // most recently used first
};

}  // namespace temper::runner
