#include "compiler/driver/compile.h"

#include <fcntl.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "compiler/codegen/codegen.h"
#include "compiler/driver/module_builder.h"
#include "compiler/driver/parallel.h"
#include "compiler/driver/weights.h"
#include "deploy/runtime/seal.h"

namespace temper::driver {
namespace {

// The kernels are compiled in so many parts side by side. Fixed, so that the result does not
// depend on the machine that compiles.
constexpr int kParts = 2;

Status WriteObject(const std::string& path, const codegen::ObjectCode& object) {
  return WriteFileAtomic(path,
                         {reinterpret_cast<const char*>(object.elf.data()), object.elf.size()});
}

// The object files of all kernels, in order.
Result<std::vector<std::string>> CompileParts(const ModelKernels& model,
                                              const std::vector<ChosenKernel>& chosen,
                                              const Target& target, const std::string& temp,
                                              std::vector<int64_t>* workspace_bytes) {
  std::vector<tir::Function> finished(chosen.size());
  workspace_bytes->assign(chosen.size(), 0);
  std::vector<std::string> paths(kParts);
  TEMPER_RETURN_IF_ERROR(ForEachParallel(kParts, kParts, [&](int part) -> Status {
    std::vector<codegen::KernelSource> sources;
    // Neighbours are alike, so every other one makes halves of about the same work.
    for (size_t i = part; i < chosen.size(); i += kParts) {
      auto function = lower::Finish(chosen[i].lowered.function, target);
      if (!function.ok()) {
        return function.status().WithContext("kernel " + model.workloads[i].name);
      }
      finished[i] = *std::move(function);
      (*workspace_bytes)[i] = finished[i].workspace_bytes;
      sources.push_back({KernelSymbol(static_cast<int>(i)), &model.workloads[i].program,
                         &chosen[i].lowered, &finished[i]});
    }
    if (sources.empty()) return OkStatus();
    TEMPER_ASSIGN_OR_RETURN(auto compiler, codegen::MakeLlvmCompiler(target));
    TEMPER_ASSIGN_OR_RETURN(codegen::ObjectCode object, compiler->CompileKernels(sources));
    paths[part] = temp + "/kernels" + std::to_string(part) + ".o";
    return WriteObject(paths[part], object);
  }));
  std::vector<std::string> made;
  for (std::string& path : paths) {
    if (!path.empty()) made.push_back(std::move(path));
  }
  return made;
}

// Appends the checksum by which the runtime knows a damaged file.
Status Seal(const std::string& path) {
  const ScopedFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid() || temper_seal_append(fd.get()) != 0) {
    return ErrnoStatus(errno, "cannot write " + path);
  }
  return OkStatus();
}

Status PutInPlace(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, "cannot write " + to);
  return OkStatus();
}

// Memory between blocks in use stays with the process, so that what mappings take comes on top of
// it: files of objects, weights and the result.
void ReturnFreeMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// What a report says that differs from kernel to kernel, taken out of the model, and which workload
// each kernel has: AddWorkloads says the rest, which takes more room.
struct ReportDraft {
  CompileReport report;
  std::vector<int> workloads;  // one a kernel; -1: none
};

ReportDraft DraftReport(ModelKernels model, const codegen::ModulePlan& plan) {
  ReportDraft draft;
  CompileReport& report = draft.report;
  report.weight_bytes = plan.weight_bytes;
  report.distinct_kernels = static_cast<int>(model.workloads.size());
  for (size_t i = 0; i < plan.specializations.size(); ++i) {
    const codegen::ModuleSpecialization& planned = plan.specializations[i];
    report.arena_bytes = std::max(report.arena_bytes, planned.arena_bytes);
    SpecializationReport& s = report.specializations.emplace_back();
    s.arena_bytes = planned.arena_bytes;
    s.fixed_defaults = planned.fixed_defaults;
    const size_t required = planned.inputs.size() - planned.optional_count;
    for (size_t k = 0; k < planned.inputs.size(); ++k) {
      const codegen::ModuleValue& input = planned.inputs[k];
      (k < required ? s.inputs : s.optional).emplace_back(input.name, input.shape);
    }
    const std::vector<const ModelKernel*> kernels = AllKernels(model.specializations[i]);
    report.kernels.reserve(report.kernels.size() + kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) {
      const ModelKernel& kernel = *kernels[k];
      KernelReport& r = report.kernels.emplace_back();
      r.specialization = static_cast<int>(i);
      r.nodes = kernel.nodes;
      draft.workloads.push_back(kernel.workload);
      if (kernel.workload >= 0) continue;
      r.name = kernel.call ? kernel.call->op : kernel.control_op;
      r.bytes = planned.steps[k].bytes;
    }
  }
  return draft;
}

void AddWorkloads(ReportDraft& draft, const std::vector<ChosenKernel>& chosen,
                  const codegen::ModulePlan& plan) {
  for (size_t i = 0; i < draft.workloads.size(); ++i) {
    if (draft.workloads[i] < 0) continue;
    const auto workload = static_cast<size_t>(draft.workloads[i]);
    const codegen::ModuleKernel& called = plan.kernels[workload];
    KernelReport& r = draft.report.kernels[i];
    r.name = plan.workloads[workload].name;
    r.workload = called.workload;
    r.source = chosen[workload].level;
    r.schedule = called.schedule;
    r.expected_us = called.expected_us;
    r.flops = called.flops;
    r.bytes = called.bytes;
  }
}

}  // namespace

Result<CompileReport> Compile(const std::string& model_path, const std::string& output,
                              const CompileOptions& options, ScheduleSource* source,
                              const ScheduleChooser& chooser, const Clock& clock) {
  const double start = clock.NowSeconds();
  TEMPER_ASSIGN_OR_RETURN(ModelKernels model,
                          BuildKernels(model_path, options.frontend, options.target));
  std::vector<std::string> warnings = std::move(model.warnings);
  TEMPER_ASSIGN_OR_RETURN(
      std::vector<ChosenKernel> chosen,
      ChooseSchedules(model.workloads,
                      {options.target, options.threads, options.require_tuned, options.numerics},
                      source, chooser, &warnings));

  std::string folder = std::filesystem::path(output).parent_path();
  if (folder.empty()) folder = ".";
  std::string temp = options.temporary_folder;
  std::optional<ScopedTempDir> own;
  if (temp.empty()) {
    auto made = ScopedTempDir::Create(".temper-", folder);
    if (!made.ok()) return made.status().WithContext("cannot write " + output);
    own = *std::move(made);
    temp = own->path();
  }

  std::vector<int64_t> workspace_bytes;
  TEMPER_ASSIGN_OR_RETURN(std::vector<std::string> objects,
                          CompileParts(model, chosen, options.target, temp, &workspace_bytes));
  TEMPER_ASSIGN_OR_RETURN(ModuleParts parts, BuildModule(model, chosen, workspace_bytes,
                                                         options.threads, options.producer));
  // The weights hold what they need of it.
  for (Specialization& specialization : model.specializations) specialization.graph = {};
  ReturnFreeMemory();
  TEMPER_ASSIGN_OR_RETURN(auto compiler, codegen::MakeLlvmCompiler(options.target));
  TEMPER_RETURN_IF_ERROR(compiler->CompileModule(parts.plan, [&](codegen::ObjectCode object) {
    objects.push_back(temp + "/module" + std::to_string(objects.size()) + ".o");
    return WriteObject(objects.back(), object);
  }));
  if (parts.plan.weight_bytes > 0) {
    objects.push_back(temp + "/weights.o");
    TEMPER_RETURN_IF_ERROR(
        WriteWeights(parts.weights, parts.plan.weight_bytes, kParts, temp, objects.back()));
  }
  // The linker reads and writes the weights in memory: what they were made from goes before, and
  // what lists the steps.
  parts.weights.clear();
  ReportDraft draft = DraftReport(std::move(model), parts.plan);
  parts.plan.specializations.clear();
  ReturnFreeMemory();
  const std::string linked = temp + "/model.so";
  TEMPER_RETURN_IF_ERROR(codegen::LinkShared(objects, linked));
  TEMPER_RETURN_IF_ERROR(Seal(linked));
  TEMPER_RETURN_IF_ERROR(PutInPlace(linked, output));

  AddWorkloads(draft, chosen, parts.plan);
  CompileReport report = std::move(draft.report);
  report.warnings = std::move(warnings);
  report.seconds = clock.NowSeconds() - start;
  return report;
}

}  // namespace temper::driver
