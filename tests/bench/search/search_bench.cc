// What a candidate costs the search on one core, a line for each alternative of a program:
// microseconds to draw it (sample, and its schedule), to lower it (legality included), to describe
// it, to score it with the prior, and the candidates a second that a round of evolution goes
// through, all of it and mutation included.
//
//   search_bench [TARGET] [THREADS] [MODEL.onnx] [--show]
//
// The last line is of all programs together, each with as many candidates. --show prints the
// schedule that DefaultSchedule picks too.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <string>

#include "compiler/driver/kernels.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"
#include "tuner/search/evolution.h"
#include "tuner/search/task_search.h"

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

// Seconds of each stage for one candidate.
struct Cost {
  double draw = 0, lower = 0, describe = 0, score = 0, evolve = 0;
};

void PrintCost(const std::string& name, const Cost& c) {
  fmt::print("{:34} draw {:5.1f}  lower {:6.1f}  describe {:5.1f}  score {:4.2f} us  {:6.0f} /s",
             name, c.draw * 1e6, c.lower * 1e6, c.describe * 1e6, c.score * 1e6, 1 / c.evolve);
}

// The costs of one alternative; false: nothing of it is legal.
bool Measure(const std::string& name, const tuner::Space& space, Cost* sum) {
  constexpr int kSamples = 400;
  const Target& target = space.target();
  Rng rng(1);
  Cost cost;
  auto start = Clock::now();
  std::vector<schedule::Schedule> schedules;
  for (int i = 0; i < kSamples; ++i) schedules.push_back(space.Emit(space.Sample(rng)));
  cost.draw = Seconds(start) / kSamples;
  std::vector<lower::Lowered> lowered;
  std::string reason;
  start = Clock::now();
  for (const auto& s : schedules) {
    auto one = lower::LowerAlternative(space.alternative_program(), s, target);
    if (one.ok()) {
      lowered.push_back(std::move(*one));
    } else {
      reason = one.status().message();
    }
  }
  cost.lower = Seconds(start) / kSamples;
  if (lowered.empty()) {
    fmt::print("{:34} nothing is legal: {}\n", name, reason);
    return false;
  }
  auto legal = static_cast<double>(lowered.size());
  std::vector<costmodel::ProgramFeatures> features;
  start = Clock::now();
  for (const auto& one : lowered) {
    features.push_back(costmodel::ExtractFeatures(one.function, target, space.threads()));
  }
  cost.describe = Seconds(start) / legal;
  std::vector<const costmodel::ProgramFeatures*> described;
  for (const auto& f : features) described.push_back(&f);
  auto model = costmodel::MakePriorModel();
  start = Clock::now();
  std::vector<double> scores = model->Predict(described);
  cost.score = Seconds(start) / legal;
  start = Clock::now();
  auto scored = tuner::Evolve(space, *model, {}, {}, rng);
  cost.evolve = Seconds(start) / static_cast<double>(std::max<size_t>(1, scored.size()));
  PrintCost(name, cost);
  fmt::print("  legal {:3.0f} %  space {:7.1g}", 100 * legal / kSamples, space.Size());
  if (!scored.empty()) {
    double us = scored[0].features.prior_us;
    double gflops = te::FlopCount(space.program()) / us * 1e-3;
    fmt::print("  prior {:8.1f} us {:6.1f} GFLOP/s", us, gflops);
  }
  fmt::print("\n");
  if (legal < kSamples) fmt::print("    {}\n", reason);
  sum->draw += cost.draw;
  sum->lower += cost.lower;
  sum->describe += cost.describe;
  sum->score += cost.score;
  sum->evolve += cost.evolve;
  return true;
}

// Adds the mean of the program's alternatives to `sum`.
bool Run(const std::string& name, const te::Program& program, const Target& target, int threads,
         bool show, Cost* sum) {
  te::Program canonical = te::Canonicalize(program);
  Cost own;
  int spaces = 0;
  for (const tuner::Space& space : tuner::SpacesOf(canonical, target, threads)) {
    auto alternative = static_cast<te::Alternative>(space.alternative());
    std::string label = fmt::format("{} {}", name.substr(0, 24), te::Name(alternative));
    spaces += Measure(label, space, &own) ? 1 : 0;
  }
  if (show) {
    fmt::print("    {}\n", schedule::ToText(tuner::DefaultSchedule(canonical, target, threads)));
  }
  if (spaces == 0) return false;
  sum->draw += own.draw / spaces;
  sum->lower += own.lower / spaces;
  sum->describe += own.describe / spaces;
  sum->score += own.score / spaces;
  sum->evolve += own.evolve / spaces;
  return true;
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
  temper::Cost sum;
  int count = 0;
  for (auto& p : programs) {
    count += temper::Run(p.name, p.program, *target, threads, show, &sum) ? 1 : 0;
  }
  if (count == 0) return 1;
  for (double* part : {&sum.draw, &sum.lower, &sum.describe, &sum.score, &sum.evolve}) {
    *part /= count;
  }
  temper::PrintCost("all", sum);
  fmt::print("\n");
  return 0;
}
