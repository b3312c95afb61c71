// What cost models learn from a real search: trains them on its trials, in their order and batches,
// and says how they then rank the fresh random candidates that were measured after it.
//
//   costmodel_replay SAMPLES... [--train 100] [--seeds 3] [--others]
//
// SAMPLES are written by search_race --samples. A line each: Spearman's correlation of the prior
// and of the model (mean of the seeds) with the times of the random candidates, after the first
// --train trials and after all of them. --others trains on the other files first, as a search does
// that begins with records of other workloads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "costmodel/cost_model.h"
#include "costmodel/rank.h"

namespace temper::costmodel {
namespace {

constexpr size_t kBatch = 16;          // of the search
constexpr size_t kOthersOfAFile = 60;  // trials of another workload that are learned from
constexpr double kOthersWeight = 0.1;

struct File {
  std::string name;
  std::vector<Sample> trials, fresh;
};

bool Read(const std::string& path, File* file) {
  std::ifstream in(path);
  file->name = path.substr(path.find_last_of('/') + 1);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    Sample sample;
    char kind = 0;
    words >> kind >> sample.us >> sample.features.prior_us;
    size_t at = kFeatureCount;
    while (words >> word) {
      if (word == "|") {
        if (at != kFeatureCount) return false;
        sample.features.stores.emplace_back();
        at = 0;
      } else if (at < kFeatureCount && !sample.features.stores.empty()) {
        sample.features.stores.back()[at++] = std::strtof(word.c_str(), nullptr);
      } else {
        return false;
      }
    }
    if (at != kFeatureCount || sample.features.stores.empty()) return false;
    (kind == 'r' ? file->fresh : file->trials).push_back(std::move(sample));
  }
  return !file->trials.empty() && !file->fresh.empty();
}

double Correlation(const CostModel& model, const std::vector<Sample>& fresh) {
  std::vector<const ProgramFeatures*> programs;
  std::vector<double> speeds;
  for (const Sample& s : fresh) {
    if (s.us <= 0) continue;
    programs.push_back(&s.features);
    speeds.push_back(1 / s.us);
  }
  return RankCorrelation(model.Predict(programs), speeds);
}

Status Feed(CostModel& model, std::span<const Sample> trials) {
  for (size_t i = 0; i < trials.size(); i += kBatch) {
    TEMPER_RETURN_IF_ERROR(model.Update(trials.subspan(i, std::min(kBatch, trials.size() - i))));
    if (model.WantsTraining()) TEMPER_RETURN_IF_ERROR(model.Train());
  }
  return OkStatus();
}

Status Run(const std::vector<File>& files, size_t train, int seeds, bool others) {
  std::vector<double> sums(3, 0);
  fmt::print("{:36} {:>6} {:>6} {:>8} {:>8}\n", "", "fresh", "prior", "trained", "all");
  for (const File& file : files) {
    double prior = Correlation(*MakePriorModel(), file.fresh), some = 0, all = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      BoostedOptions options;
      options.seed = static_cast<uint64_t>(seed);
      auto model = MakeBoostedModel(options);
      for (size_t i = 0; others && i < files.size(); ++i) {
        if (&files[i] == &file) continue;
        size_t count = std::min(kOthersOfAFile, files[i].trials.size());
        std::vector<Sample> known(files[i].trials.begin(),
                                  files[i].trials.begin() + static_cast<std::ptrdiff_t>(count));
        for (Sample& s : known) {
          s.task = static_cast<int>(i) + 1;
          s.weight = kOthersWeight;
        }
        TEMPER_RETURN_IF_ERROR(model->Update(known));
      }
      std::span<const Sample> trials = file.trials;
      size_t first = std::min(train, trials.size());
      TEMPER_RETURN_IF_ERROR(Feed(*model, trials.first(first)));
      some += Correlation(*model, file.fresh) / seeds;
      TEMPER_RETURN_IF_ERROR(Feed(*model, trials.subspan(first)));
      all += Correlation(*model, file.fresh) / seeds;
    }
    fmt::print("{:36} {:6} {:6.2f} {:8.2f} {:8.2f}\n", file.name, file.fresh.size(), prior, some,
               all);
    sums[0] += prior;
    sums[1] += some;
    sums[2] += all;
  }
  auto n = static_cast<double>(files.size());
  fmt::print("{:36} {:6} {:6.3f} {:8.3f} {:8.3f}\n", "mean", "", sums[0] / n, sums[1] / n,
             sums[2] / n);
  return OkStatus();
}

}  // namespace
}  // namespace temper::costmodel

int main(int argc, char** argv) {
  std::vector<temper::costmodel::File> files;
  size_t train = 100;
  int seeds = 3;
  bool others = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--others") {
      others = true;
    } else if (arg == "--train" && i + 1 < argc) {
      train = std::strtoul(argv[++i], nullptr, 10);
    } else if (arg == "--seeds" && i + 1 < argc) {
      seeds = std::max(1, std::atoi(argv[++i]));
    } else if (!temper::costmodel::Read(arg, &files.emplace_back())) {
      fmt::print(stderr, "{} has no samples of this version's features\n", arg);
      return 1;
    }
  }
  if (files.empty()) {
    fmt::print(stderr, "costmodel_replay SAMPLES... [--train N] [--seeds N] [--others]\n");
    return 2;
  }
  temper::Status status = temper::costmodel::Run(files, train, seeds, others);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
