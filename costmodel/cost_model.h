// Ranks candidates of a task before they are measured.
//
// A program's score is the sum of its stores' scores; a higher score is a faster program. Scores
// compare programs of one task only. Before there is data the score is the prior's (prior.h);
// boosted trees trained on measurements correct it. One model serves all tasks of a target, so a
// new task starts with what earlier ones taught.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "costmodel/features.h"

namespace temper::costmodel {

// One measured program. `task` groups what may be compared.
struct Sample {
  int task = 0;
  ProgramFeatures features;
  double us = 0;  // measured time; 0 or less: the candidate failed, which ranks last
};

// Not thread-safe: one owner.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // The score of each program.
  virtual std::vector<double> Predict(std::span<const ProgramFeatures* const> programs) const = 0;

  // The predicted time of a program that got `score` of Predict(): positive.
  virtual double Microseconds(const ProgramFeatures& program, double score) const = 0;

  // Adds measurements and trains when enough of them are new.
  virtual Status Update(std::span<const Sample> samples) = 0;

  // The trained trees as bytes (saved_model.h); empty when there are none. Load() refuses bytes
  // that are not of Save(), whatever they are, or of another features version.
  virtual std::string Save() const = 0;
  virtual Status Load(const std::string& bytes) = 0;
};

// Only the prior: nothing is learned.
std::unique_ptr<CostModel> MakePriorModel();

struct BoostedOptions {
  uint64_t seed = 1;
  int threads = 1;
  int max_samples = 6000;  // programs kept for training, the newest
  int first_trees = 60;    // when training from scratch
  int more_trees = 10;     // when continuing
};
std::unique_ptr<CostModel> MakeBoostedModel(const BoostedOptions& options);

}  // namespace temper::costmodel
