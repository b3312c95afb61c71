// The search, as far as the server sees it: an interface, so that the server's bookkeeping can be
// tested without searching.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tuner/scheduler/tuner.h"

namespace temper::tuner {

// See ModelTuner for each. Not thread-safe: one owner.
class JobTuner {
 public:
  virtual ~JobTuner() = default;
  virtual std::vector<Candidate> Propose(int n) = 0;
  virtual void Observe(std::span<const Measured> results) = 0;
  virtual void Abandon(const Candidate& candidate) = 0;
  virtual bool Done() const = 0;
  virtual TunerState Snapshot() const = 0;
  virtual std::string SaveModel() const = 0;
};

using TunerFactory = std::function<Result<std::unique_ptr<JobTuner>>(
    std::vector<TunerTask> tasks, const Target& target, TunerOptions options,
    std::span<const Measured> records, const Clock* clock)>;

// Makes ModelTuners.
TunerFactory ModelTunerFactory();

}  // namespace temper::tuner
