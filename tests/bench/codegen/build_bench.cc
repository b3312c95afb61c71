// What the worker pays to build a candidate, a line a model: milliseconds to lower it, to compile
// it and to link it, the mean over candidates that a search would propose.
//
//   build_bench MODEL.onnx... [--count 40] [--target native]
//
// Of the model's heaviest task, every alternative as many. Made for profilers, too.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "compiler/codegen/codegen.h"
#include "compiler/driver/kernels.h"
#include "compiler/lower/lower.h"
#include "costmodel/cost_model.h"
#include "tuner/search/task_search.h"

namespace temper {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count() * 1e3;
}

Status Run(const std::string& model, int count, const Target& target, codegen::Compiler& compiler) {
  TEMPER_ASSIGN_OR_RETURN(auto tasks, driver::ExtractTasks(model, {}, target));
  const driver::TuningTask* heaviest = nullptr;
  for (const auto& t : tasks) {
    if (!heaviest || te::FlopCount(t.program) > te::FlopCount(heaviest->program)) heaviest = &t;
  }
  if (!heaviest) return NotFound("no task in " + model);
  TEMPER_ASSIGN_OR_RETURN(auto folder, ScopedTempDir::Create("temper-build-bench", "/dev/shm"));
  const std::string object = folder.File("kernel.o"), shared = folder.File("kernel.so");
  tuner::TaskSearch search(tuner::SpacesOf(heaviest->program, target, 1), 1);
  auto prior = costmodel::MakePriorModel();
  double lower = 0, compile = 0, link = 0, bytes = 0;
  int built = 0, spilled = 0;
  while (built < count && !search.exhausted()) {
    for (const tuner::Scored& s : search.Propose(16, *prior)) {
      auto start = Clock::now();
      auto lowered = lower::LowerToLoops(search.program(), s.schedule, target);
      if (!lowered.ok()) continue;
      TEMPER_ASSIGN_OR_RETURN(auto finished, lower::Finish(lowered->function, target));
      lower += Milliseconds(start);
      start = Clock::now();
      TEMPER_ASSIGN_OR_RETURN(auto code, compiler.CompileCandidate(
                                             {"kernel", &search.program(), &*lowered, &finished}));
      compile += Milliseconds(start);
      start = Clock::now();
      TEMPER_RETURN_IF_ERROR(WriteFileAtomic(
          object, {reinterpret_cast<const char*>(code.elf.data()), code.elf.size()}));
      TEMPER_RETURN_IF_ERROR(codegen::LinkShared({object}, shared));
      link += Milliseconds(start);
      bytes += static_cast<double>(code.elf.size());
      spilled += code.inner_spills > 0 ? 1 : 0;
      if (++built == count) break;
    }
  }
  if (built == 0) return NotFound("no candidate of " + model);
  std::string name = model.substr(model.rfind('/') + 1);
  fmt::print(
      "{:28} lower {:6.2f}  compile {:6.2f}  link {:5.2f} ms  {:6.0f} bytes  {} of {} spill\n",
      name, lower / built, compile / built, link / built, bytes / built, spilled, built);
  std::fflush(stdout);
  return OkStatus();
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  using namespace temper;
  std::vector<std::string> models;
  std::string name = "native";
  int count = 40;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--count" && i + 1 < argc) {
      count = std::atoi(argv[++i]);
    } else if (arg == "--target" && i + 1 < argc) {
      name = argv[++i];
    } else {
      models.push_back(arg);
    }
  }
  auto target = ParseTarget(name);
  if (!target.ok() || models.empty()) {
    fmt::print(stderr, "build_bench MODEL.onnx... [--count N] [--target T]\n");
    return 2;
  }
  auto compiler = codegen::MakeLlvmCompiler(*target);
  if (!compiler.ok()) {
    fmt::print(stderr, "{}\n", compiler.status().message());
    return 1;
  }
  for (const std::string& model : models) {
    Status status = Run(model, count, *target, **compiler);
    if (!status.ok()) fmt::print(stderr, "{}: {}\n", model, status.message());
  }
  return 0;
}
