// Candidates made, lowered, described and ranked a second, on one core, a line a program:
//
//   search_bench [TARGET] [THREADS] [MODEL.onnx] [--show]
//
// --show prints the schedule that DefaultSchedule picks too.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <string>

#include "compiler/driver/kernels.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/evolution.h"
#include "tuner/space/space.h"

namespace temper {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

std::vector<testing::NamedProgram> Programs() {
  return {{"matmul 512", testing::MatmulBiasRelu(512, 512, 512)},
          {"matvec 1000x512", testing::MatmulBiasRelu(1, 1000, 512)},
          {"attention 12x128x64", testing::BatchMatmul(12, 128, 128, 64)},
          {"conv 3x3 56 64-64", testing::Conv({56, 56, 64, 64, 3, 1, 1})},
          {"conv 3x3 7 512-512", testing::Conv({7, 7, 512, 512, 3, 1, 1})},
          {"conv 1x1 14 1024-256", testing::Conv({14, 14, 1024, 256, 1, 1, 0})},
          {"conv 7x7 s2 224 3-64", testing::Conv({224, 224, 3, 64, 7, 2, 3})},
          {"padded conv 28 128", testing::PaddedConv({28, 28, 128, 128, 3, 1, 1})},
          {"depthwise 3x3 112 32", testing::Depthwise({112, 112, 32, 32, 3, 1, 1})},
          {"maxpool 112 64", testing::MaxPool({112, 112, 64, 64, 3, 2, 1})},
          {"global pool 7 512", testing::GlobalAvgPool(7, 7, 512)},
          {"softmax 1536x128", testing::Softmax(1536, 128)},
          {"elementwise 56x56x64", testing::ElementwiseChain({1, 56, 56, 64})},
          {"transpose 512x256", testing::TransposeReshape(512, 256)}};
}

void Run(const std::string& name, te::Program program, const Target& target, int threads,
         bool show) {
  program = te::Canonicalize(program);
  tuner::Space space = tuner::Space::Create(program, target, threads);
  constexpr int kSamples = 400;
  Rng rng(1);
  int legal = 0;
  std::string reason;
  std::vector<tuner::Decision> decisions;
  for (int i = 0; i < kSamples; ++i) decisions.push_back(space.Sample(rng));
  double best = 1e30;
  for (const auto& decision : decisions) {
    auto described = tuner::Describe(program, space.Emit(decision), target);
    legal += described.ok() ? 1 : 0;
    if (!described.ok()) reason = described.status().message();
    if (described.ok()) best = std::min(best, described->prior_us);
  }
  auto model = costmodel::MakePriorModel();
  auto start = Clock::now();
  auto scored = tuner::Evolve(space, *model, {}, {}, rng);
  double evolve = Seconds(start);
  if (scored.empty()) {
    fmt::print("{:24} nothing is legal: {}\n", name, reason);
    return;
  }
  double gflops = te::FlopCount(program) / scored[0].features.prior_us * 1e-3;
  fmt::print(
      "{:24} space {:8.2g}  legal {:5.1f} %  {:6.0f} candidates/s  prior {:8.1f} us "
      "{:6.1f} GFLOP/s, evolved {:8.1f} us\n",
      name, space.Size(), 100.0 * legal / kSamples, static_cast<double>(scored.size()) / evolve,
      best, gflops, scored[0].features.prior_us);
  if (legal < kSamples) fmt::print("    {}\n", reason);
  if (show) {
    fmt::print("    {}\n", schedule::ToText(tuner::DefaultSchedule(program, target, threads)));
  }
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  std::string name = "native", model;
  int threads = 1;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--show") {
      show = true;
    } else if (arg.find_first_not_of("0123456789") == std::string::npos) {
      threads = std::stoi(arg);
    } else if (arg.ends_with(".onnx")) {
      model = arg;
    } else {
      name = arg;
    }
  }
  auto target = temper::ParseTarget(name);
  if (!target.ok()) {
    fmt::print(stderr, "{}\n", target.status().message());
    return 2;
  }
  std::vector<temper::testing::NamedProgram> programs = temper::Programs();
  if (!model.empty()) {
    auto tasks = temper::driver::ExtractTasks(model, {}, *target);
    if (!tasks.ok()) {
      fmt::print(stderr, "{}\n", tasks.status().message());
      return 1;
    }
    programs.clear();
    for (auto& task : *tasks) programs.push_back({task.name, task.program});
  }
  for (auto& p : programs) temper::Run(p.name, p.program, *target, threads, show);
  return 0;
}
