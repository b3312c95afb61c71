// How good the prior is on this machine: random schedules and the best by the prior are built and
// timed, a line a program.
//
//   prior_bench [SAMPLES] [MODEL.onnx] [NAME-PART] [--target NAME] [--threads N]
//               [--picks N [--where KNOB=VALUE]] [--show]
//
// Prints the rank correlation of the prior's estimate with the measured time, the time of the
// prior's pick (median of the three best), and the best time of all. With --picks instead, of each
// alternative the prior's first N: what it says of their stores in microseconds (of arithmetic, and
// of lines from the second and third level, memory and several threads), and what was measured;
// with
// --where, of random schedules that have this value of a knob.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/file.h"
#include "compiler/codegen/codegen.h"
#include "compiler/driver/kernels.h"
#include "compiler/schedule/text.h"
#include "compiler/target/native_target.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "costmodel/access.h"
#include "costmodel/prior.h"
#include "costmodel/rank.h"
#include "deploy/runtime/abi.h"
#include "deploy/runtime/thread_pool.h"
#include "tests/support/programs.h"
#include "tuner/search/default_schedule.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/evolution.h"
#include "tuner/search/task_search.h"

namespace temper {
namespace {

using Clock = std::chrono::steady_clock;

struct Args {
  std::vector<std::vector<uint8_t>> data;
  std::vector<void*> pointers;
};

Args MakeArgs(const tir::Function& f) {
  Args args;
  for (int id : f.params) {
    const tir::Buffer& b = f.buffers[id];
    args.data.emplace_back(b.ElementCount() * ByteSize(b.dtype) + 64);
    auto address = reinterpret_cast<uintptr_t>(args.data.back().data());
    uint8_t* start = args.data.back().data() + (64 - address % 64) % 64;
    if (b.dtype == DType::kFloat32) {
      for (int64_t i = 0; i < b.ElementCount(); ++i) {
        float v = static_cast<float>(i * 37 % 23 - 11) / 8;
        std::memcpy(start + i * 4, &v, 4);
      }
    }
    args.pointers.push_back(start);
  }
  return args;
}

struct Bench {
  Target target;
  int threads = 1;
  std::unique_ptr<codegen::Compiler> compiler;
  std::unique_ptr<temper_pool, decltype(&temper_pool_destroy)> pool{nullptr, temper_pool_destroy};
};

// Microseconds of one run: the best of a few rounds. 0: it could not be built.
double Measure(Bench& bench, const te::Program& program, const schedule::Schedule& s) {
  const Target& target = bench.target;
  auto lowered = lower::LowerToLoops(program, s, target);
  if (!lowered.ok()) return 0;
  auto finished = lower::Finish(lowered->function, target);
  if (!finished.ok()) return 0;
  auto code = bench.compiler->CompileCandidate({"kernel_timed", &program, &*lowered, &*finished});
  if (!code.ok()) {
    fmt::print(stderr, "{}\n", code.status().message());
    return 0;
  }
  auto dir = ScopedTempDir::Create("temper-prior-bench");
  if (!dir.ok()) return 0;
  std::string object = dir->File("kernel.o"), shared = dir->File("kernel.so");
  if (!WriteFileAtomic(object, {reinterpret_cast<const char*>(code->elf.data()), code->elf.size()})
           .ok() ||
      !codegen::LinkShared({object}, shared).ok()) {
    return 0;
  }
  void* library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return 0;
  auto* info = static_cast<const temper_candidate_info*>(dlsym(library, TEMPER_CANDIDATE_SYMBOL));
  Args args = MakeArgs(*finished);
  std::vector<uint8_t> workspace(finished->workspace_bytes + 64);
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  void* scratch = workspace.data() + (64 - address % 64) % 64;
  temper_context* context = temper_pool_context(bench.pool.get());
  double best = 1e30;
  info->kernel(context, args.pointers.data(), scratch);
  for (int round = 0; round < 5; ++round) {
    int runs = 0;
    auto start = Clock::now();
    double seconds = 0;
    do {
      info->kernel(context, args.pointers.data(), scratch);
      ++runs;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    } while (seconds < 1e-3);
    best = std::min(best, seconds / runs * 1e6);
  }
  dlclose(library);
  return best;
}

void Run(Bench& bench, const std::string& name, te::Program program, int samples, bool show) {
  const Target& target = bench.target;
  program = te::Canonicalize(program);
  tuner::Space space = tuner::Space::Create(program, target, bench.threads);
  auto model = costmodel::MakePriorModel();
  Rng rng(1);
  std::vector<double> predicted, measured;
  double best = 1e30;
  std::string best_text;
  auto time = [&](const schedule::Schedule& s, double prior) {
    double us = Measure(bench, program, s);
    if (us <= 0) return us;
    predicted.push_back(prior);
    measured.push_back(us);
    if (show)
      fmt::print("  prior {:9.1f} measured {:9.1f} {}\n", prior, us,
                 schedule::ToText(s).substr(120));
    if (us < best) {
      best = us;
      best_text = schedule::ToText(s);
    }
    return us;
  };
  for (int i = 0; i < samples; ++i) {
    schedule::Schedule s = space.Emit(space.Sample(rng));
    auto features = tuner::Describe(program, s, target);
    if (features.ok()) time(s, features->prior_us);
  }
  double random_correlation = costmodel::RankCorrelation(predicted, measured);
  if (show) fmt::print("  -- picks\n");
  tuner::EvolutionOptions options;
  options.wild = 0;
  auto scored = tuner::Evolve(space, *model, {}, options, rng);
  std::vector<double> picks;
  for (size_t i = 0; i < std::min<size_t>(3, scored.size()); ++i) {
    picks.push_back(time(scored[i].schedule, scored[i].features.prior_us));
  }
  double first = picks[0];
  std::sort(picks.begin(), picks.end());
  double flops = te::FlopCount(program) * 1e-3;
  fmt::print(
      "{:22} correlation {:5.2f}  first pick {:8.1f} us {:6.1f} GFLOP/s (prior {:8.1f})  median "
      "of 3 {:8.1f}  best of all {:8.1f} us {:6.1f} GFLOP/s\n",
      name, random_correlation, first, flops / first, scored[0].features.prior_us,
      picks[picks.size() / 2], best, flops / best);
  fmt::print("    {}\n", best_text);
  // What a compile without records takes, all alternatives of the program considered.
  schedule::Schedule picked = tuner::DefaultSchedule(program, target, bench.threads);
  double us = Measure(bench, program, picked);
  fmt::print("    without records: alternative {}, {:.1f} us\n", picked.alternative, us);
  std::fflush(stdout);
}

// Random schedules that have this value of a knob, the best by the prior first.
std::vector<tuner::Scored> Where(const tuner::Space& space, const std::string& where, Rng& rng) {
  constexpr int kSamples = 2000;
  std::vector<tuner::Scored> found;
  for (int n = 0; n < kSamples; ++n) {
    tuner::Decision decision = space.Sample(rng);
    bool holds = false;
    for (size_t k = 0; k < space.knobs().size(); ++k) {
      const tuner::Knob& knob = space.knobs()[k];
      holds |= where == fmt::format("{}={}", knob.name, knob.values[decision[k]]);
    }
    if (!holds) continue;
    schedule::Schedule s = space.Emit(decision);
    auto features = tuner::Describe(space, s);
    if (features.ok()) found.push_back({std::move(decision), std::move(s), std::move(*features)});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.features.prior_us < b.features.prior_us; });
  return found;
}

void ShowPicks(Bench& bench, const std::string& name, te::Program program, int picks,
               const std::string& where) {
  const Target& target = bench.target;
  program = te::Canonicalize(program);
  fmt::print("{}\n", name);
  auto model = costmodel::MakePriorModel();
  for (const tuner::Space& space : tuner::SpacesOf(program, target, bench.threads)) {
    tuner::EvolutionOptions options;
    options.generations = 2;
    options.wild = 0;
    options.population = 256;
    Rng rng(1);
    auto scored = tuner::Evolve(space, *model, {}, options, rng);
    if (!where.empty()) scored = Where(space, where, rng);
    for (size_t i = 0; i < std::min<size_t>(picks, scored.size()); ++i) {
      const schedule::Schedule& s = scored[i].schedule;
      fmt::print("  {} prior {:.1f} measured {:.1f} us:",
                 te::Name(static_cast<te::Alternative>(space.alternative())),
                 scored[i].features.prior_us, Measure(bench, program, s));
      for (size_t k = 0; k < space.knobs().size(); ++k) {
        const tuner::Knob& knob = space.knobs()[k];
        if (knob.values.size() < 2) continue;
        fmt::print(" {}.{}={}", knob.nest, knob.name, knob.values[scored[i].decision[k]]);
      }
      fmt::print("\n");
      auto lowered = lower::LowerToLoops(program, s, target);
      if (!lowered.ok()) continue;
      const std::vector<int> constants = lower::ConstantBuffers(*lowered);
      std::vector<costmodel::StoreEstimate> estimates;
      const auto views = costmodel::ViewStores(lowered->function, target, constants);
      costmodel::EstimateProgram(views, target, bench.threads, &estimates);
      for (size_t v = 0; v < views.size(); ++v) {
        const auto& view = views[v];
        const auto& e = estimates[v];
        fmt::print(
            "    {:16} {:8.1f}: compute {:8.1f} l2 {:6.1f} l3 {:6.1f} memory {:6.1f} torn "
            "{:5.1f}; "
            "body {:.1f} cycles, {} x {} registers {} + {}, last {:.3f} x {:.3f} guarded {:.3f}\n",
            lowered->function.buffers[view.accesses[0].buffer].name, e.total_us, e.compute_us,
            e.l2_us, e.l3_us, e.memory_us, e.torn_us, e.body_cycles, e.unroll, e.lanes,
            e.result_vectors, e.operand_vectors, view.last_work, view.last, view.guarded);
      }
    }
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  using temper::testing::NamedProgram;
  int samples = 30, picks = 0, threads = 1;
  std::string part, model, where, name = "native";
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--show") {
      show = true;
    } else if (arg == "--target" && i + 1 < argc) {
      name = argv[++i];
    } else if (arg == "--threads" && i + 1 < argc) {
      threads = std::stoi(argv[++i]);
    } else if (arg == "--picks" && i + 1 < argc) {
      picks = std::stoi(argv[++i]);
    } else if (arg == "--where" && i + 1 < argc) {
      where = argv[++i];
    } else if (i == 1 && arg.find_first_not_of("0123456789") == std::string::npos) {
      samples = std::stoi(arg);
    } else if (arg.ends_with(".onnx")) {
      model = arg;
    } else {
      part = arg;
    }
  }
  namespace t = temper::testing;
  std::vector<NamedProgram> programs = {
      {"matmul_512", t::MatmulBiasRelu(512, 512, 512)},
      {"matvec_1000x512", t::MatmulBiasRelu(1, 1000, 512)},
      {"attention_12x128x64", t::BatchMatmul(12, 128, 128, 64)},
      {"conv3x3_56_64_64", t::Conv({56, 56, 64, 64, 3, 1, 1})},
      {"conv3x3_14_256_256", t::Conv({14, 14, 256, 256, 3, 1, 1})},
      {"conv3x3_7_512_512", t::Conv({7, 7, 512, 512, 3, 1, 1})},
      {"conv1x1_14_1024_256", t::Conv({14, 14, 1024, 256, 1, 1, 0})},
      {"conv1x1_56_64_256", t::Conv({56, 56, 64, 256, 1, 1, 0})},
      {"conv7x7_s2_224_3_64", t::Conv({224, 224, 3, 64, 7, 2, 3})},
      {"padded_28_128", t::PaddedConv({28, 28, 128, 128, 3, 1, 1})},
      {"depthwise_112_32", t::Depthwise({112, 112, 32, 32, 3, 1, 1})},
      {"depthwise_14_480", t::Depthwise({14, 14, 480, 480, 5, 1, 2})},
      {"maxpool_112_64", t::MaxPool({112, 112, 64, 64, 3, 2, 1})},
      {"globalpool_7_512", t::GlobalAvgPool(7, 7, 512)},
      {"softmax_1536x128", t::Softmax(1536, 128)},
      {"layernorm_128x768", t::LayerNorm(128, 768)},
      {"rowmean_1024x1024", t::RowMean(1024, 1024)},
      {"elementwise_56_64", t::ElementwiseChain({1, 56, 56, 64})},
  };
  auto parsed = temper::TargetOf(name);
  if (!parsed.ok()) {
    fmt::print(stderr, "{}\n", parsed.status().message());
    return 1;
  }
  const temper::Target& target = *parsed;
  if (!model.empty()) {
    auto tasks = temper::driver::ExtractTasks(model, {}, target);
    if (!tasks.ok()) {
      fmt::print(stderr, "{}\n", tasks.status().message());
      return 1;
    }
    programs.clear();
    for (auto& task : *tasks) programs.push_back({task.name, task.program});
  }
  auto compiler = temper::codegen::MakeLlvmCompiler(target);
  if (!compiler.ok()) {
    fmt::print(stderr, "{}\n", compiler.status().message());
    return 1;
  }
  fmt::print("{}\n", temper::TargetText(target));
  temper::Bench bench{target, threads, *std::move(compiler)};
  bench.pool.reset(temper_pool_create(threads));
  if (!bench.pool) {
    fmt::print(stderr, "prior_bench: no {} threads\n", threads);
    return 1;
  }
  for (auto& p : programs) {
    if (p.name.find(part) == std::string::npos) continue;
    if (picks > 0) {
      temper::ShowPicks(bench, p.name, p.program, picks, where);
      continue;
    }
    temper::Run(bench, p.name, p.program, samples, show);
  }
  return 0;
}
