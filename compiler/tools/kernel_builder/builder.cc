#include "compiler/tools/kernel_builder/builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/core_lock.h"
#include "compiler/lower/lower.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "compiler/tools/kernel_builder/element_evaluator.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_schedule.h"
#include "compiler/wire/wire_target.h"

namespace temper::tools {
namespace {

constexpr size_t kMaxWorkloads = 16;  // kept parsed

Status WriteObject(const std::string& path, const std::vector<uint8_t>& bytes) {
  ScopedFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "cannot write " + path);
  return WriteAll(file.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// This machine where the name is empty or `native`; else a target whose code it can run.
Result<Target> NamedTarget(const std::string& name) {
  Target host = DetectTarget();
  if (name.empty() || name == "native") return host;
  TEMPER_ASSIGN_OR_RETURN(Target target, ParseTarget(name));
  TEMPER_RETURN_IF_ERROR(CanRunOn(target, host));
  return target;
}

void Fail(proto::BuildReply& reply, proto::Outcome outcome, const Status& status) {
  if (status.code() == Code::kResourceExhausted) outcome = proto::OUTCOME_OUT_OF_MEMORY;
  reply.set_outcome(outcome);
  reply.set_message(status.message().substr(0, 1000));
}

}  // namespace

Result<KernelBuilder::Workload*> KernelBuilder::FindWorkload(const proto::Workload& workload) {
  std::string bytes = workload.SerializeAsString();
  for (auto it = workloads_.begin(); it != workloads_.end(); ++it) {
    if (it->bytes != bytes) continue;
    workloads_.splice(workloads_.begin(), workloads_, it);
    return &workloads_.front();
  }
  TEMPER_ASSIGN_OR_RETURN(te::Program program, wire::FromProto(workload));
  program = te::Canonicalize(program);
  Hash hash = te::WorkloadHash(program);
  workloads_.push_front({std::move(bytes), std::move(program), hash, {}});
  if (workloads_.size() > kMaxWorkloads) workloads_.pop_back();
  return &workloads_.front();
}

Result<const te::Program*> KernelBuilder::AlternativeOf(Workload& workload, int alternative) {
  if (alternative == 0) return &workload.program;
  auto known = workload.alternatives.find(alternative);
  if (known != workload.alternatives.end()) return &known->second;
  TEMPER_ASSIGN_OR_RETURN(te::Program made, te::MakeAlternative(workload.program, alternative));
  return &workload.alternatives.emplace(alternative, std::move(made)).first->second;
}

Result<codegen::Compiler*> KernelBuilder::CompilerFor(const Target& target) {
  std::string text = TargetText(target);
  if (compiler_ == nullptr || text != target_text_) {
    compiler_.reset();
    TEMPER_ASSIGN_OR_RETURN(compiler_, codegen::MakeLlvmCompiler(target));
    target_text_ = text;
  }
  return compiler_.get();
}

Status KernelBuilder::AddExpected(const proto::BuildRequest& request, const te::Program& program,
                                  proto::BuildReply& reply) {
  int outputs = static_cast<int>(program.outputs.size());
  int each = std::min(std::max(request.elements(), 0), 4096) / std::max(outputs, 1);
  EvaluatorOptions options;
  options.seed = request.seed();
  ElementEvaluator values(program, options);
  options.absolute = true;
  ElementEvaluator magnitudes(program, options);
  for (int output = 0; output < outputs; ++output) {
    const te::Tensor& tensor =
        program.tensors[static_cast<size_t>(program.outputs[static_cast<size_t>(output)])];
    for (int64_t index : ProbePositions(tensor.shape, each, request.seed())) {
      auto value = values.Evaluate(output, index);
      auto magnitude = magnitudes.Evaluate(output, index);
      // What depends on very much is checked at fewer elements.
      if (!value.ok() || !magnitude.ok()) {
        const Status& status = value.ok() ? magnitude.status() : value.status();
        if (status.code() == Code::kResourceExhausted) return OkStatus();
        return status;
      }
      proto::ExpectedElement* element = reply.add_expected();
      element->set_output(output);
      element->set_index(index);
      element->set_value(*value);
      element->set_magnitude(*magnitude);
    }
  }
  return OkStatus();
}

Status KernelBuilder::Compile(const proto::BuildRequest& request, Built& built) {
  proto::BuildReply& reply = built.reply;
  auto fail = [&](proto::Outcome outcome, Status status) {
    Fail(reply, outcome, status);
    return status;
  };
  auto target = wire::FromProto(request.target());
  if (!target.ok()) return fail(proto::OUTCOME_INFRASTRUCTURE, target.status());
  auto workload = FindWorkload(request.workload());
  if (!workload.ok()) return fail(proto::OUTCOME_INFRASTRUCTURE, workload.status());
  const te::Program& program = (*workload)->program;
  reply.set_workload_hash(std::string((*workload)->hash.AsBytes()));
  auto compiler = CompilerFor(*target);
  if (!compiler.ok()) return fail(proto::OUTCOME_INFRASTRUCTURE, compiler.status());

  schedule::Schedule schedule;
  if (request.has_schedule()) {
    auto received = wire::FromProto(request.schedule());
    if (!received.ok()) return fail(proto::OUTCOME_ILLEGAL_SCHEDULE, received.status());
    schedule = std::move(*received);
  } else {
    schedule = lower::ReferenceSchedule(program, *target);
  }
  reply.set_error_scale(te::ErrorBound(schedule.alternative) / te::ErrorBound(0));
  auto chosen = AlternativeOf(**workload, schedule.alternative);
  if (!chosen.ok()) return fail(proto::OUTCOME_ILLEGAL_SCHEDULE, chosen.status());
  auto lowered = lower::LowerAlternative(**chosen, schedule, *target);
  if (!lowered.ok()) return fail(proto::OUTCOME_ILLEGAL_SCHEDULE, lowered.status());
  auto finished = lower::Finish(lowered->function, *target);
  if (!finished.ok()) return fail(proto::OUTCOME_ILLEGAL_SCHEDULE, finished.status());
  codegen::KernelSource source;
  source.symbol = "kernel";
  source.program = &program;
  source.lowered = &*lowered;
  source.finished = &*finished;
  auto object = (*compiler)->CompileCandidate(source);
  if (!object.ok()) return fail(proto::OUTCOME_BUILD_FAILED, object.status());
  reply.set_inner_spills(object->inner_spills);
  if (request.has_schedule() && object->inner_spills > kMaxInnerSpills) {
    return fail(proto::OUTCOME_BUILD_FAILED,
                FailedPrecondition(
                    "the tile does not fit the registers: " + std::to_string(object->inner_spills) +
                    " stack accesses in innermost loops"));
  }
  std::string object_path = folder_ + "/kernel.o", shared_path = folder_ + "/kernel.so";
  Status linked = WriteObject(object_path, object->elf);
  if (linked.ok()) linked = codegen::LinkShared({object_path}, shared_path);
  unlink(object_path.c_str());
  if (linked.ok()) {
    built.object.Reset(open(shared_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!built.object.valid()) linked = ErrnoStatus(errno, "cannot open " + shared_path);
  }
  unlink(shared_path.c_str());
  if (!linked.ok()) return fail(proto::OUTCOME_BUILD_FAILED, linked);
  if (request.elements() > 0) {
    Status expected = AddExpected(request, program, reply);
    if (!expected.ok()) return fail(proto::OUTCOME_INFRASTRUCTURE, expected);
  }
  reply.set_outcome(proto::OUTCOME_OK);
  return OkStatus();
}

KernelBuilder::Built KernelBuilder::Build(const proto::BuildRequest& request) {
  auto start = std::chrono::steady_clock::now();
  Built built;
  if (request.cores_size() > 0) {
    // Best effort: a core may have gone away.
    Status pinned = PinToCores({request.cores().begin(), request.cores().end()});
    (void)pinned.ok();
  }
  if (!request.has_workload()) {
    auto target = NamedTarget(request.target().name());
    if (target.ok()) {
      *built.reply.mutable_detected() = wire::ToProto(*target);
      built.reply.set_fingerprint(Fingerprint(*target));
      built.reply.set_outcome(proto::OUTCOME_OK);
    } else {
      Fail(built.reply, proto::OUTCOME_INFRASTRUCTURE, target.status());
    }
  } else if (!Compile(request, built).ok()) {
    built.object.Reset();
  }
  built.reply.set_compiler_version("temper " TEMPER_VERSION);
  built.reply.set_seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return built;
}

}  // namespace temper::tools
