// Ranks candidates of a task before they are measured.
//
// A program's score is the sum of its stores' scores; a higher score is a faster program. Before
// there is data the score is the prior's (prior.h); boosted trees trained on measurements correct
// it, and then a score is -log of the expected microseconds. One model serves all tasks of a
// target, so that a new task starts with what earlier ones taught.
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
  double us = 0;      // measured time; 0 or less: the candidate failed, which ranks last
  double weight = 1;  // less for what is only related to the tasks at hand
};

// Not thread-safe: one owner.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // The score of each program.
  virtual std::vector<double> Predict(std::span<const ProgramFeatures* const> programs) const = 0;

  // The predicted time of a program that got `score` of Predict(): positive.
  virtual double Microseconds(const ProgramFeatures& program, double score) const = 0;

  // Adds measurements, to be learned from at the next Train(). The oldest are forgotten first.
  virtual Status Update(std::span<const Sample> samples) = 0;

  // Whether enough measurements are new for training to pay.
  virtual bool WantsTraining() const = 0;
  // Trains on all that is remembered; without effect while that is too little.
  virtual Status Train() = 0;

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
  int trees = 100;
};
std::unique_ptr<CostModel> MakeBoostedModel(const BoostedOptions& options);

}  // namespace temper::costmodel
