// Tunes all tasks of a model together: proposes candidates, learns from their times, and gives
// the next trials to the task whose gain for the whole model looks largest.
//
// A loop around it: Propose() a batch, measure it, Observe() the results, until Done(). Results
// may come back in any order and in parts, and Propose() may be called while some are out. The
// same seed, records and results in the same order give the same proposals, the seconds of the
// budget aside.
//
// When the budget is nearly spent the final round begins: the few best schedules of each task, as
// far as they are close to each other, are proposed once more with `final` set, to be timed in
// turns; the winner there is the best. It is a part of the budget: its seconds are set aside, and
// of a budget of trials it takes a small share more. The heaviest tasks come first.
//
// Not thread-safe: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/constants.h"
#include "base/outcome.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/program.h"
#include "tuner/search/task_search.h"

namespace temper::tuner {

struct TunerTask {
  std::string name;
  te::Program program;                     // canonical (te::Canonicalize)
  double weight = 1;                       // how often the model runs it
  Constants constants = Constants::kCold;  // where its large ones are when it is timed
};

// One measured schedule: a result of this run, or a record of an earlier one.
struct Measured {
  int task = 0;
  schedule::Schedule schedule;
  Outcome outcome = Outcome::kOk;
  double us = 0;       // median time of one run; meaningful for kOk only
  bool final = false;  // of the final round
};

struct Candidate {
  int task = 0;
  schedule::Schedule schedule;
  double incumbent_us = 0;  // best so far of the task: timing may stop above it; 0: none
  bool final = false;       // timed before: time it again in turns with its fellows
};

// Whichever ends first; 0: no limit of that kind. Trials are outcomes recorded in this run, the
// final round aside.
struct Budget {
  int64_t trials = 0;
  double seconds = 0;
};

// What is known of a task of another model, for the cost model to learn from; or of one of this
// model with its constants elsewhere, so that the times are not comparable.
struct KnownTask {
  te::Program program;  // canonical
  std::vector<Measured> results;
  Constants constants = Constants::kCold;  // where its large ones were
};

struct TunerOptions {
  int threads = 1;
  Budget budget;
  uint64_t seed = 1;
  te::Numerics numerics = te::kDefaultNumerics;  // schedules of a larger error are not proposed
  int final_candidates = 3;  // of each task in the final round; 0: no final round
  std::string model;         // CostModel::Save of an earlier run, to start warm; may be empty
  std::vector<KnownTask> known_tasks;  // of other models, to start warm as well
  SearchOptions search;                // of each task
  bool learn = true;                   // false: the prior ranks to the end
};

struct TaskState {
  std::string name;
  double weight = 1;
  double best_us = 0;  // 0: none measured
  double gflops = 0;   // at best_us
  int64_t trials = 0;  // of this run
  int64_t failed = 0;  // of those, not kOk
  double share = 0;    // of the model's time at best_us, 0 to 1
};

struct TunerState {
  std::vector<TaskState> tasks;
  double model_us = 0;  // sum of weight * best_us; 0 until every task has a time
  int64_t trials = 0;
  double elapsed_seconds = 0;
  double remaining_seconds = 0;  // an estimate from both budgets; 0 when there is no limit
  double rank_correlation = 0;   // Spearman's, of predictions made before measuring
  int64_t correlated = 0;        // over so many measurements
  int64_t learned = 0;           // measurements that the cost model was given, records included
  bool final_round = false;
  // The seconds for the search are over: what of it is not begun is best abandoned, so that the
  // final round can start.
  bool search_time_over = false;
  double search_seconds = 0;  // spent in Propose
  double train_seconds = 0;   // spent in training, in Observe; at most a tenth of the time
};

class ModelTuner {
 public:
  // `records` of earlier runs: their schedules are not proposed again, and their times train the
  // cost model. `clock` is borrowed. Fails on a program that does not verify, naming the task.
  static Result<std::unique_ptr<ModelTuner>> Create(std::vector<TunerTask> tasks,
                                                    const Target& target, TunerOptions options,
                                                    std::span<const Measured> records,
                                                    const Clock* clock);
  ~ModelTuner();

  // Up to `n` candidates, all of one task or of several. None: the budget is spent or all spaces
  // are exhausted, for good once every result is in (Done()).
  std::vector<Candidate> Propose(int n);

  // Results of proposed candidates. kInfrastructure and kTooNoisy do not rule a candidate out.
  void Observe(std::span<const Measured> results);

  // A candidate that will not be measured after all; it does not count as a trial.
  void Abandon(const Candidate& candidate);

  bool Done() const;
  TunerState Snapshot() const;

  // The best schedule of a task, of the final round if it took part; null: none measured.
  const Measured* Best(int task) const;

  // The trained cost model, for TunerOptions::model.
  std::string SaveModel() const;

 private:
  struct Impl;
  explicit ModelTuner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::tuner
