// How fast does the whole path get with sampled schedules? For a few programs: schedules drawn
// from the space, lowered, compiled and timed in turns with the peak loop.
//   sampled_schedules_bench [samples] [program or all] [target] [show]
// `show` prints the best one's assembly. The peak is the host's, whatever the target.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/target/peak_loop.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/printer.h"
#include "tests/compiler/codegen/harness.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"
#include "tuner/space/space.h"

namespace temper::codegen {
namespace {

double Seconds(const std::function<void()>& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Outcome {
  double share = 0, micros = 0, compile_ms = 0;
  int64_t spills = 0;
};

Result<Outcome> Try(const te::Program& program, const schedule::Schedule& schedule,
                    const Target& target, Compiler& compiler, bool show) {
  TEMPER_ASSIGN_OR_RETURN(auto lowered, lower::LowerToLoops(program, schedule, target));
  TEMPER_ASSIGN_OR_RETURN(auto finished, lower::Finish(lowered.function, target));
  std::vector<bool> outputs;
  for (const auto& a : lowered.arguments) outputs.push_back(a.output);
  KernelSource source{"k", &program, &lowered, &finished};
  Outcome outcome;
  Status compiled;
  outcome.compile_ms = 1e3 * Seconds([&] {
                         auto code = compiler.CompileCandidate(source);
                         if (!code.ok()) compiled = code.status();
                       });
  TEMPER_RETURN_IF_ERROR(compiled);
  if (show) {
    std::printf("%s\n%s\n%s\n", schedule::ToText(schedule).c_str(), tir::ToText(finished).c_str(),
                compiler.Assembly(source)->c_str());
  }
  TEMPER_ASSIGN_OR_RETURN(auto kernel, Kernel::Build(finished, outputs, target));
  outcome.spills = kernel->inner_spills();
  std::vector<std::vector<uint8_t>> data;
  std::vector<void*> args;
  for (int p : finished.params) {
    const tir::Buffer& b = finished.buffers[p];
    data.emplace_back(b.ElementCount() * ByteSize(b.dtype) + 128);
    auto at = (reinterpret_cast<uintptr_t>(data.back().data()) + 63) / 64 * 64;
    args.push_back(reinterpret_cast<void*>(at));
  }
  kernel->Run(args);
  double best = 1e9, peak = 0;
  for (int turn = 0; turn < 3; ++turn) {
    peak = std::max(peak, PeakGflops(0.0003));
    for (int i = 0; i < 2; ++i) best = std::min(best, Seconds([&] { kernel->Run(args); }));
    if (te::FlopCount(program) / best * 1e-9 < 0.3 * peak) break;
  }
  outcome.micros = best * 1e6;
  outcome.share = te::FlopCount(program) / best * 1e-9 / peak;
  return outcome;
}

int Main(int argc, char** argv) {
  int samples = argc > 1 ? std::atoi(argv[1]) : 64;
  auto parsed = ParseTarget(argc > 3 ? argv[3] : "native");
  if (!parsed.ok()) {
    std::printf("%s\n", parsed.status().ToString().c_str());
    return 1;
  }
  Target target = *parsed;
  auto compiler = MakeLlvmCompiler(target);
  if (!compiler.ok()) return 1;
  std::vector<testing::NamedProgram> programs = {
      {"matmul512", testing::MatmulBiasRelu(512, 512, 512)},
      {"conv3x3_56_64_64", testing::Conv({56, 56, 64, 64, 3, 1, 1})},
      {"conv3x3_14_256_256", testing::Conv({14, 14, 256, 256, 3, 1, 1})},
      {"conv3x3_7_512_512", testing::Conv({7, 7, 512, 512, 3, 1, 1})},
      {"conv1x1_14_1024_256", testing::Conv({14, 14, 1024, 256, 1, 1, 0})},
      {"conv7x7s2_224_3_64", testing::Conv({224, 224, 3, 64, 7, 2, 3})},
      {"depthwise_112_32", testing::Depthwise({112, 112, 32, 32, 3, 1, 1})},
      {"softmax_1536_128", testing::Softmax(1536, 128)},
      {"maxpool_112_64", testing::MaxPool({112, 112, 64, 64, 3, 2, 1})},
      {"average_7_512", testing::GlobalAvgPool(7, 7, 512)},
      {"elementwise_56_256", testing::ElementwiseChain({56, 56, 256})},
      {"transpose_64_3136", testing::TransposeReshape(64, 3136)},
  };
  for (auto& [name, raw] : programs) {
    if (argc > 2 && std::strcmp(argv[2], "all") != 0 && name != argv[2]) continue;
    te::Program program = te::Canonicalize(raw);
    auto space = tuner::Space::Create(program, target, 1);
    Rng rng(7);
    Outcome best;
    schedule::Schedule winner = tuner::DefaultSchedule(program, target, 1);
    double compile = 0, slowest = 0;
    int built = 0, refused = 0, spilling = 0;
    auto first = Try(program, winner, target, **compiler, false);
    if (!first.ok()) std::printf("default: %s\n", first.status().ToString().c_str());
    if (first.ok()) best = *first;
    for (int i = 0; i < samples; ++i) {
      auto schedule = space.Build(space.Sample(rng, 0));
      if (!schedule.ok()) {
        ++refused;
        continue;
      }
      auto outcome = Try(program, *schedule, target, **compiler, false);
      if (!outcome.ok()) {
        std::printf("%s: %s\n", name.c_str(), outcome.status().ToString().c_str());
        ++refused;
        continue;
      }
      ++built;
      spilling += outcome->spills > 0;
      compile += outcome->compile_ms;
      slowest = std::max(slowest, outcome->compile_ms);
      if (best.micros == 0 || outcome->micros < best.micros) best = *outcome, winner = *schedule;
    }
    std::printf(
        "%-20s default %5.1f %%, best %5.1f %% of the peak (%.0f us, %lld spills); %d built, %d "
        "refused, %d spill; compiled in %.1f ms, at most %.1f\n",
        name.c_str(), first.ok() ? 100 * first->share : 0, 100 * best.share, best.micros,
        static_cast<long long>(best.spills), built, refused, spilling, compile / std::max(built, 1),
        slowest);
    std::fflush(stdout);
    if (argc > 4) (void)Try(program, winner, target, **compiler, true).ok();
  }
  return 0;
}

}  // namespace
}  // namespace temper::codegen

int main(int argc, char** argv) { return temper::codegen::Main(argc, argv); }
