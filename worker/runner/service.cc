#include "worker/runner/service.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "deploy/runtime/thread_pool.h"
#include "worker/runner/cold_constants.h"

namespace temper::runner {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kFarReference = 3;  // a core's speed drifts by less than so many times

double Since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// So often another program took a core of this process, all threads together.
int64_t Switches() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

void Fail(proto::Timing& timing, proto::Outcome outcome, const Status& status) {
  timing.set_outcome(status.code() == Code::kResourceExhausted ? proto::OUTCOME_OUT_OF_MEMORY
                                                               : outcome);
  timing.set_message(status.message());
}

// The buffers of a kernel's outputs, in the places of their arguments.
struct Outputs {
  std::vector<int> arguments;
  std::vector<GuardedBuffer> buffers;
};

Result<Outputs> MakeOutputs(const Candidate& kernel) {
  Outputs outputs;
  for (int i = 0; i < kernel.info().arg_count; ++i) {
    if (kernel.info().args[i].role != TEMPER_ARG_OUTPUT) continue;
    TEMPER_ASSIGN_OR_RETURN(
        GuardedBuffer buffer,
        GuardedBuffer::Allocate(kernel.layouts()[static_cast<size_t>(i)].bytes));
    outputs.arguments.push_back(i);
    outputs.buffers.push_back(std::move(buffer));
  }
  if (outputs.arguments.empty()) return InvalidArgument("a built kernel has no output");
  return outputs;
}

}  // namespace

struct RunnerService::Workload {
  uint64_t key = 0;
  std::unique_ptr<Operands> operands;
  std::vector<temper_arg_info> output_info;
  Outputs outputs;  // shared by all candidates, as they all write the same shapes
  std::vector<ExpectedOutput> expected;
  bool spoiled = false;  // a kernel wrote to its operands

  int64_t bytes() const {
    int64_t sum = operands->bytes();
    for (const GuardedBuffer& buffer : outputs.buffers) sum += buffer.bytes();
    for (const ExpectedOutput& output : expected) sum += output.bytes();
    return sum;
  }
};

struct RunnerService::Loaded {
  std::unique_ptr<Candidate> kernel;
  std::vector<void*> args;
  GuardedBuffer workspace;
  double first_seconds = 0;  // of the run whose result was checked

  int Run(temper_context* context) const {
    return kernel->info().kernel(context, args.data(), workspace.data());
  }
};

RunnerService::RunnerService(int threads, Evictor evict)
    : evict_(std::move(evict)), pool_(temper_pool_create(threads)) {
  // The best of several: what the core does when nothing disturbs it.
  double best = control_.Run();
  for (int i = 0; i < 200; ++i) best = std::min(best, control_.Run());
  control_reference_seconds_ = best;
}

RunnerService::~RunnerService() { temper_pool_destroy(pool_); }

RunnerService::Workload* RunnerService::Find(uint64_t key) {
  for (auto it = workloads_.begin(); it != workloads_.end(); ++it) {
    if ((*it)->key != key) continue;
    workloads_.splice(workloads_.begin(), workloads_, it);
    return workloads_.front().get();
  }
  return nullptr;
}

void RunnerService::ForgetOld() {
  int64_t sum = 0;
  size_t keep = 0;
  for (const auto& workload : workloads_) {
    sum += workload->bytes();
    if (keep > 0 && (keep >= kMaxPrepared || sum > kPreparedBytes)) break;
    ++keep;
  }
  while (workloads_.size() > keep) workloads_.pop_back();
}

Status RunnerService::PrepareWorkload(const proto::PrepareRequest& request, int fd,
                                      Workload& workload) {
  workload.key = request.key();
  Loaded loaded;
  TEMPER_ASSIGN_OR_RETURN(Candidate kernel, Candidate::Load(fd));
  loaded.kernel = std::make_unique<Candidate>(std::move(kernel));
  const temper_candidate_info& info = loaded.kernel->info();
  TEMPER_ASSIGN_OR_RETURN(loaded.workspace, GuardedBuffer::Allocate(info.workspace_bytes));

  // Outputs for the magnitudes (absolute inputs) and for the values.
  TEMPER_ASSIGN_OR_RETURN(Outputs magnitudes, MakeOutputs(*loaded.kernel));
  {
    TEMPER_ASSIGN_OR_RETURN(Operands absolute,
                            Operands::Create(*loaded.kernel, request.seed(), true));
    TEMPER_ASSIGN_OR_RETURN(loaded.args, absolute.For(*loaded.kernel));
    for (size_t i = 0; i < magnitudes.arguments.size(); ++i) {
      loaded.args[static_cast<size_t>(magnitudes.arguments[i])] = magnitudes.buffers[i].data();
    }
    int code = loaded.Run(temper_pool_context(pool_));
    if (code != 0) return DataLoss("the reference kernel returned " + std::to_string(code));
  }
  TEMPER_ASSIGN_OR_RETURN(workload.outputs, MakeOutputs(*loaded.kernel));
  TEMPER_ASSIGN_OR_RETURN(Operands operands,
                          Operands::Create(*loaded.kernel, request.seed(), false));
  workload.operands = std::make_unique<Operands>(std::move(operands));
  TEMPER_ASSIGN_OR_RETURN(loaded.args, workload.operands->For(*loaded.kernel));
  const Outputs& outputs = workload.outputs;
  for (size_t i = 0; i < outputs.arguments.size(); ++i) {
    loaded.args[static_cast<size_t>(outputs.arguments[i])] = outputs.buffers[i].data();
  }
  int code = loaded.Run(temper_pool_context(pool_));
  if (code != 0) return DataLoss("the reference kernel returned " + std::to_string(code));

  for (size_t i = 0; i < outputs.arguments.size(); ++i) {
    const temper_arg_info& arg = info.args[outputs.arguments[i]];
    workload.output_info.push_back(arg);
    workload.expected.push_back(
        ExpectedOutput::Make(arg, outputs.buffers[i].data(), magnitudes.buffers[i].data()));
  }
  for (const proto::ExpectedElement& e : request.expected()) {
    if (e.output() < 0 || static_cast<size_t>(e.output()) >= outputs.arguments.size()) {
      return InvalidArgument("an expected element is of an output that there is not");
    }
    auto output = static_cast<size_t>(e.output());
    const temper_arg_info& arg = workload.output_info[output];
    const ArgLayout& layout =
        loaded.kernel->layouts()[static_cast<size_t>(outputs.arguments[output])];
    if (e.index() < 0 || e.index() >= layout.logical_elements) {
      return InvalidArgument("an expected element is outside its output");
    }
    auto dtype = static_cast<DType>(arg.dtype);
    double value = ElementAt(dtype, outputs.buffers[output].data(), BufferIndex(arg, e.index()));
    double scale = std::isfinite(e.magnitude()) ? std::max(e.magnitude(), std::fabs(e.value()))
                                                : std::fabs(e.value());
    bool same = value == e.value() || (std::isnan(value) && std::isnan(e.value()));
    if (!same && !(std::fabs(value - e.value()) <= Tolerance(dtype, scale))) {
      return DataLoss(
          fmt::format("the reference kernel gives {} for element {} of output {}; "
                      "computed in double precision it is {}",
                      value, e.index(), e.output(), e.value()));
    }
  }
  return OkStatus();
}

proto::Timing RunnerService::Prepare(const proto::PrepareRequest& request, int fd) {
  proto::Timing timing;
  auto workload = std::make_unique<Workload>();
  Status status = PrepareWorkload(request, fd, *workload);
  if (!status.ok()) {
    // Not the fault of any candidate.
    Fail(timing, proto::OUTCOME_INFRASTRUCTURE, status);
    return timing;
  }
  if (Find(request.key()) != nullptr) workloads_.pop_front();
  workloads_.push_front(std::move(workload));
  ForgetOld();
  timing.set_outcome(proto::OUTCOME_OK);
  return timing;
}

Status RunnerService::Check(Workload& workload, int fd, double error_scale, Loaded& loaded,
                            proto::Timing& timing) {
  auto wrong = [&](const Status& status) {
    Fail(timing, proto::OUTCOME_WRONG_RESULT, status);
    return status;
  };
  auto kernel = Candidate::Load(fd);
  if (!kernel.ok()) return wrong(kernel.status());
  loaded.kernel = std::make_unique<Candidate>(std::move(*kernel));
  const temper_candidate_info& info = loaded.kernel->info();
  auto workspace = GuardedBuffer::Allocate(info.workspace_bytes);
  if (!workspace.ok()) return wrong(workspace.status());
  loaded.workspace = std::move(*workspace);
  auto args = workload.operands->For(*loaded.kernel);
  if (!args.ok()) return wrong(args.status());
  loaded.args = std::move(*args);
  Outputs& outputs = workload.outputs;
  for (size_t i = 0; i < outputs.arguments.size(); ++i) {
    // Operands::For has seen that there are as many arguments; outputs are its null ones.
    void*& pointer = loaded.args[static_cast<size_t>(outputs.arguments[i])];
    if (pointer != nullptr) return wrong(InvalidArgument("the kernel's outputs are elsewhere"));
    pointer = outputs.buffers[i].data();
    // Not-a-number everywhere: an element that is not written shows.
    std::memset(pointer, 0xff, static_cast<size_t>(outputs.buffers[i].bytes()));
  }
  auto start = SteadyClock::now();
  int code = loaded.Run(temper_pool_context(pool_));
  loaded.first_seconds = Since(start);
  Status untouched = workload.operands->CheckUntouched();
  if (!untouched.ok()) {
    workload.spoiled = true;
    return wrong(untouched);
  }
  if (code != 0) return wrong(DataLoss("the kernel returned " + std::to_string(code)));
  for (size_t i = 0; i < outputs.arguments.size(); ++i) {
    Status status = workload.expected[i].Check(outputs.buffers[i].data(), error_scale);
    if (status.ok() && !outputs.buffers[i].Intact()) {
      status = DataLoss("the kernel wrote beside it");
    }
    if (!status.ok()) return wrong(status.WithContext("output " + std::to_string(i)));
  }
  if (!loaded.workspace.Intact()) {
    return wrong(DataLoss("the kernel wrote beside its workspace"));
  }
  return OkStatus();
}

void RunnerService::Measure(const proto::MeasureRequest& request, Workload& workload,
                            const std::vector<ScopedFd>& fds, proto::RunnerReply& reply) {
  std::vector<Loaded> loaded(fds.size());
  std::vector<int> right;  // positions of those to time
  for (size_t i = 0; i < fds.size(); ++i) {
    proto::Timing* timing = reply.add_timings();
    if (workload.spoiled) {
      timing->set_outcome(proto::OUTCOME_INFRASTRUCTURE);
      timing->set_message("another kernel of the group wrote to its inputs");
      continue;
    }
    double error_scale = static_cast<int>(i) < request.error_scale_size()
                             ? std::clamp(request.error_scale(static_cast<int>(i)), 1.0, 64.0)
                             : 1.0;
    if (Check(workload, fds[i].get(), error_scale, loaded[i], *timing).ok()) {
      right.push_back(static_cast<int>(i));
    }
  }
  if (workload.spoiled) {
    for (int i : right) {
      reply.mutable_timings(i)->set_outcome(proto::OUTCOME_INFRASTRUCTURE);
      reply.mutable_timings(i)->set_message("another kernel of the group wrote to its inputs");
    }
    right.clear();
  }
  TimingOptions options;
  options.incumbent_us = request.incumbent_us();
  if (request.budget_seconds() > 0) options.budget_seconds = request.budget_seconds();
  if (request.min_relative_error() > 0) options.min_relative_error = request.min_relative_error();
  options.precise = request.precise();
  options.control_reference_seconds = control_reference_seconds_;
  // One of another machine would only add an error.
  double given = request.control_reference_us() * 1e-6 / control_reference_seconds_;
  if (given > 1 / kFarReference && given < kFarReference) {
    options.control_reference_seconds = request.control_reference_us() * 1e-6;
  }
  std::vector<std::function<double(int)>> kernels;
  temper_context* context = temper_pool_context(pool_);
  for (int i : right) {
    const Loaded& kernel = loaded[static_cast<size_t>(i)];
    options.first_seconds.push_back(kernel.first_seconds);
    auto cold = request.warm_constants() ? std::vector<std::pair<const void*, int64_t>>()
                                         : ColdConstants(*kernel.kernel, kernel.args);
    kernels.push_back([this, &kernel, context, cold](int runs) {
      if (cold.empty()) {
        auto start = SteadyClock::now();
        for (int r = 0; r < runs; ++r) kernel.Run(context);
        return Since(start);
      }
      double seconds = 0;
      for (int r = 0; r < runs; ++r) {
        for (const auto& [data, bytes] : cold) evict_(data, bytes);
        auto start = SteadyClock::now();
        kernel.Run(context);
        seconds += Since(start);
      }
      return seconds;
    });
  }
  const auto start = SteadyClock::now();
  const int64_t switches = Switches();
  auto results = TimeInTurns(kernels, [&] { return control_.Run(); }, options);
  reply.set_switches(Switches() - switches);
  reply.set_timed_seconds(Since(start));
  for (size_t k = 0; k < right.size(); ++k) {
    proto::Timing& timing = *reply.mutable_timings(right[k]);
    const TimingResult& result = results[k];
    timing.set_outcome(result.too_noisy ? proto::OUTCOME_TOO_NOISY : proto::OUTCOME_OK);
    if (result.too_noisy) {
      timing.set_message(
          fmt::format("the middle half of the samples spreads by {:.0f} % around "
                      "{:.1f} us",
                      result.spread * 100, result.median_us));
    }
    timing.set_median_us(result.median_us);
    timing.mutable_samples()->Add(result.samples.begin(), result.samples.end());
    timing.set_spread(result.spread);
    timing.set_control_us(result.control_us);
    timing.set_drift(result.drift);
    timing.set_stopped_early(result.stopped_early);
  }
}

proto::RunnerReply RunnerService::Serve(const proto::RunnerRequest& request,
                                        const std::vector<ScopedFd>& fds) {
  proto::RunnerReply reply;
  reply.set_control_gflops(control_.flops() / control_reference_seconds_ * 1e-9);
  reply.set_control_us(control_reference_seconds_ * 1e6);
  auto refuse = [&](const char* message) {
    proto::Timing* timing = reply.add_timings();
    timing->set_outcome(proto::OUTCOME_INFRASTRUCTURE);
    timing->set_message(message);
    return reply;
  };
  if (pool_ == nullptr) return refuse("the threads to run kernels on cannot be started");
  if (request.has_prepare()) {
    if (fds.size() != 1) return refuse("a request to prepare came without its kernel");
    *reply.add_timings() = Prepare(request.prepare(), fds[0].get());
    return reply;
  }
  if (!request.has_measure()) return reply;  // a greeting: the control's rate is the answer
  Workload* workload = Find(request.measure().key());
  if (workload == nullptr) {
    reply.set_unknown_key(true);
    return reply;
  }
  if (fds.empty()) return refuse("a request to measure came without a kernel");
  Measure(request.measure(), *workload, fds, reply);
  if (workload->spoiled) workloads_.pop_front();  // Find() has put it there
  ForgetOld();  // it may hold more now, as new layouts were packed
  return reply;
}

}  // namespace temper::runner
