// How well cost models rank the candidates that costmodel_collect measured, and how fast a search
// that follows each of them finds the best; a line a kernel and model.
//
//   costmodel_evaluate DB MODEL.onnx... [--for NAME-PART]... [--train 100] [--repeats 5]
//                     [--dump FILE]
//
// A model's heaviest task stands for it. For each kernel (of --for; else all), over a few random
// splits: Spearman's correlation on 200 candidates that were not trained on, and a simulated search
// over all of the kernel's candidates in batches of 16, of each two at random and two by the prior.
// Its figure is the best time of all over the best found after so many trials. "warm" has seen the
// other kernels.
#include "tuner/search/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <numeric>

#include "base/log.h"
#include "base/rng.h"
#include "compiler/driver/kernels.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "costmodel/cost_model.h"
#include "costmodel/rank.h"
#include "db/sqlite_store.h"

namespace temper {
namespace {

using costmodel::CostModel;
using costmodel::Sample;

struct Kernel {
  std::string name;
  std::vector<Sample> samples;
  double best = 0;
};

enum class Mode { kRandom, kPrior, kModel, kWarm };
constexpr std::array<const char*, 4> kModeNames = {"random", "prior", "model", "warm"};

struct Settings {
  size_t train = 100, test = 200;
  int repeats = 5;
};

class Evaluation {
 public:
  Evaluation(std::vector<Kernel> kernels, Settings settings)
      : kernels_(std::move(kernels)), settings_(settings) {}

  void Run(size_t number) {
    const Kernel& kernel = kernels_[number];
    TrainOthers(number);
    for (Mode mode : {Mode::kRandom, Mode::kPrior, Mode::kModel, Mode::kWarm}) {
      double before = 0, after = 0;
      std::vector<double> found(kCounts.size(), 0);
      for (int r = 0; r < settings_.repeats; ++r) {
        Rng rng(r + 1);
        std::vector<size_t> order(kernel.samples.size());
        std::iota(order.begin(), order.end(), size_t{0});
        rng.Shuffle(order);
        if (mode != Mode::kRandom) {
          auto model = Make(mode, r);
          before += Correlation(*model, kernel, order);
          std::vector<Sample> train;
          for (size_t i = 0; i < TrainCount(kernel); ++i) {
            train.push_back(kernel.samples[order[i]]);
          }
          Feed(*model, train, true);
          after += Correlation(*model, kernel, order);
        }
        auto one = Search(mode, kernel, r);
        for (size_t i = 0; i < found.size(); ++i) found[i] += one[i];
      }
      fmt::print("{:22} {:7} spearman {:5.2f} -> {:5.2f}   best found", kernel.name,
                 kModeNames[static_cast<int>(mode)], before / settings_.repeats,
                 after / settings_.repeats);
      for (size_t i = 0; i < found.size(); ++i) {
        fmt::print("  {}: {:5.3f}", kCounts[i], found[i] / settings_.repeats);
        sums_[{mode, i}] += found[i] / settings_.repeats;
      }
      fmt::print("\n");
      sums_[{mode, 100}] += before / settings_.repeats;
      sums_[{mode, 101}] += after / settings_.repeats;
      std::fflush(stdout);
    }
    ++done_;
  }

  void Summary() {
    for (Mode mode : {Mode::kRandom, Mode::kPrior, Mode::kModel, Mode::kWarm}) {
      fmt::print("{:22} {:7} spearman {:5.2f} -> {:5.2f}   best found", "MEAN",
                 kModeNames[static_cast<int>(mode)], sums_[{mode, 100}] / done_,
                 sums_[{mode, 101}] / done_);
      for (size_t i = 0; i < kCounts.size(); ++i) {
        fmt::print("  {}: {:5.3f}", kCounts[i], sums_[{mode, i}] / done_);
      }
      fmt::print("\n");
    }
    fmt::print("training: {:.2f} s in all\n", train_seconds_);
  }

 private:
  static constexpr std::array<size_t, 4> kCounts = {16, 32, 64, 100};
  static constexpr double kOthersWeight = 0.1;
  static constexpr size_t kOthersOfAKernel = 60;
  static constexpr size_t kBatch = 16, kRandoms = 2, kPriors = 2;

  static double Prior(const Kernel& kernel, size_t i) {
    return kernel.samples[i].features.prior_us;
  }

  // What is trained on, of a kernel with few candidates half of them.
  size_t TrainCount(const Kernel& kernel) const {
    return std::min(settings_.train, kernel.samples.size() / 2);
  }

  void TrainOthers(size_t number) {
    others_.clear();
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (k == number) continue;
      size_t taken = 0;
      for (Sample s : kernels_[k].samples) {
        if (taken++ == kOthersOfAKernel) break;
        s.task = static_cast<int>(k) + 1;
        others_.push_back(std::move(s));
      }
    }
    if (others_.empty()) return;
    auto model = costmodel::MakeBoostedModel({});
    Feed(*model, others_, true);
    saved_ = model->Save();
    for (Sample& s : others_) s.weight = kOthersWeight;
  }

  std::unique_ptr<CostModel> Make(Mode mode, int seed) {
    if (mode == Mode::kPrior) return costmodel::MakePriorModel();
    costmodel::BoostedOptions options;
    options.seed = static_cast<uint64_t>(seed) + 1;
    auto model = costmodel::MakeBoostedModel(options);
    if (mode == Mode::kWarm && !saved_.empty()) {
      Status loaded = model->Load(saved_);
      if (loaded.ok()) loaded = model->Update(others_);
      if (!loaded.ok()) fmt::print(stderr, "{}\n", loaded.message());
    }
    return model;
  }

  void Feed(CostModel& model, std::span<const Sample> samples, bool final = false) {
    auto start = std::chrono::steady_clock::now();
    Status status = model.Update(samples);
    if (status.ok() && (final || model.WantsTraining())) status = model.Train();
    train_seconds_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  }

  double Correlation(const CostModel& model, const Kernel& kernel,
                     const std::vector<size_t>& order) const {
    std::vector<const costmodel::ProgramFeatures*> programs;
    std::vector<double> speeds;
    for (size_t i = order.size(); i-- > 0 && programs.size() < settings_.test;) {
      const Sample& s = kernel.samples[order[i]];
      if (s.us <= 0 || i < TrainCount(kernel)) continue;
      programs.push_back(&s.features);
      speeds.push_back(1 / s.us);
    }
    return costmodel::RankCorrelation(model.Predict(programs), speeds);
  }

  std::vector<double> Search(Mode mode, const Kernel& kernel, int seed) {
    Rng rng(seed + 100);
    auto model = mode == Mode::kRandom ? nullptr : Make(mode, seed);
    std::vector<size_t> left(kernel.samples.size());
    std::iota(left.begin(), left.end(), size_t{0});
    double best = 1e30;
    size_t trials = 0;
    std::vector<double> result;
    while (result.size() < kCounts.size() && !left.empty()) {
      rng.Shuffle(left);
      if (model) {
        std::vector<const costmodel::ProgramFeatures*> programs;
        for (size_t i : left) programs.push_back(&kernel.samples[i].features);
        std::vector<double> scores = model->Predict(programs);
        std::vector<size_t> order(left.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return scores[a] > scores[b]; });
        std::vector<size_t> next;
        for (size_t i : order) next.push_back(left[i]);
        left = std::move(next);
        for (size_t r = 0; r < kPriors && left.size() > kBatch; ++r) {
          size_t best = kBatch - kRandoms - 1 - r;
          for (size_t i = best; i < left.size(); ++i) {
            if (Prior(kernel, left[i]) < Prior(kernel, left[best])) best = i;
          }
          std::swap(left[kBatch - kRandoms - 1 - r], left[best]);
        }
        for (size_t r = 0; r < kRandoms && left.size() > kBatch; ++r) {
          std::swap(left[kBatch - 1 - r], left[kBatch + rng.Uniform(left.size() - kBatch)]);
        }
      }
      std::vector<Sample> batch;
      for (size_t i = 0; i < std::min(kBatch, left.size()); ++i) {
        const Sample& s = kernel.samples[left[i]];
        batch.push_back(s);
        ++trials;
        if (s.us > 0) best = std::min(best, s.us);
        if (result.size() < kCounts.size() && trials == kCounts[result.size()]) {
          result.push_back(kernel.best / best);
        }
      }
      left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(batch.size()));
      if (model) Feed(*model, batch);
    }
    result.resize(kCounts.size(), 1);
    return result;
  }

  std::vector<Kernel> kernels_;
  Settings settings_;
  std::vector<Sample> others_;
  std::string saved_;
  std::map<std::pair<Mode, size_t>, double> sums_;
  int done_ = 0;
  double train_seconds_ = 0;
};

Result<Kernel> ReadKernel(const std::string& model, const Target& target, db::RecordStore& store) {
  TEMPER_ASSIGN_OR_RETURN(auto tasks, driver::ExtractTasks(model, {}, target));
  const driver::TuningTask* heaviest = nullptr;
  for (const auto& t : tasks) {
    if (!heaviest || te::FlopCount(t.program) > te::FlopCount(heaviest->program)) heaviest = &t;
  }
  if (!heaviest) return NotFound("no task in " + model);
  te::Program program = te::Canonicalize(heaviest->program);
  Kernel kernel;
  kernel.name = model.substr(model.find_last_of('/') + 1);
  kernel.name = kernel.name.substr(0, kernel.name.find(".onnx"));
  db::RecordFilter filter;
  filter.workload = te::WorkloadHash(program);
  filter.constants = heaviest->constants;
  TEMPER_RETURN_IF_ERROR(store.ForEach(filter, [&](const db::Record& r) {
    if (!IsConclusive(r.outcome)) return true;
    auto schedule = schedule::ParseText(r.schedule);
    if (!schedule.ok()) return true;
    auto features = tuner::Describe(program, *schedule, target, heaviest->constants);
    if (!features.ok()) return true;
    double us = r.outcome == Outcome::kOk ? r.RankUs() : 0;
    if (us > 0 && (kernel.best == 0 || us < kernel.best)) kernel.best = us;
    kernel.samples.push_back({0, *std::move(features), us});
    return true;
  }));
  return kernel;
}

// A line a candidate, for looking at features elsewhere: kernel, microseconds, the prior's, and
// for each store its features behind a bar.
int Dump(const std::vector<Kernel>& kernels, const std::string& path) {
  std::ofstream out(path);
  for (const Kernel& k : kernels) {
    for (const Sample& s : k.samples) {
      out << k.name << ' ' << s.us << ' ' << s.features.prior_us;
      for (const auto& store : s.features.stores) {
        out << " |";
        for (float v : store) out << ' ' << v;
      }
      out << '\n';
    }
  }
  return out.good() ? 0 : 1;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  using namespace temper;
  std::vector<std::string> models, parts;
  std::string dump;
  Settings settings;
  for (int i = 2; i < argc; ++i) {
    std::string arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--for" && more) {
      parts.emplace_back(argv[++i]);
    } else if (arg == "--train" && more) {
      settings.train = std::stoul(argv[++i]);
    } else if (arg == "--repeats" && more) {
      settings.repeats = std::stoi(argv[++i]);
    } else if (arg == "--dump" && more) {
      dump = argv[++i];
    } else {
      models.push_back(arg);
    }
  }
  if (models.empty()) {
    fmt::print(stderr, "costmodel_evaluate DB MODEL.onnx... [--for NAME-PART]...\n");
    return 2;
  }
  auto store = db::OpenSqliteStoreReadOnly(argv[1], {});
  if (!store.ok()) {
    fmt::print(stderr, "{}\n", store.status().message());
    return 1;
  }
  Target target = DetectTarget();
  std::vector<Kernel> kernels;
  for (const std::string& model : models) {
    auto kernel = ReadKernel(model, target, **store);
    if (!kernel.ok()) {
      fmt::print(stderr, "{}: {}\n", model, kernel.status().message());
      return 1;
    }
    if (kernel->best > 0) kernels.push_back(*std::move(kernel));
  }
  for (const Kernel& k : kernels) {
    fmt::print("{:22} {} candidates, best {:.1f} us\n", k.name, k.samples.size(), k.best);
  }
  if (!dump.empty()) return Dump(kernels, dump);
  Evaluation evaluation(kernels, settings);
  for (size_t k = 0; k < kernels.size(); ++k) {
    bool wanted = parts.empty();
    for (const std::string& part : parts) {
      wanted = wanted || kernels[k].name.find(part) != std::string::npos;
    }
    if (wanted) evaluation.Run(k);
  }
  evaluation.Summary();
  return 0;
}
