// The final round: the few best schedules of each task are timed again in turns, so that drift
// and luck fall on all of them alike, and the winner is the one that wins there.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"

namespace temper::tuner {

// How often each finalist is sent to be timed. A worker times those it gets together in turns, for
// many rounds.
inline constexpr int kFinalTurns = 1;
// Schedules slower than this many times the best are not worth another look: no timing is so far
// off that they could win.
inline constexpr double kFinalMargin = 1.05;

struct Finalist {
  schedule::Schedule schedule;
  double us = 0;  // measured before
  std::vector<double> final_us;
};

class FinalRound {
 public:
  // `finalists` of each task, fastest first. At most `max_turns` turns are made: those of the tasks
  // of most `worth` (one a task), each task's all or none.
  FinalRound(std::vector<std::vector<Finalist>> finalists, const std::vector<double>& worth,
             int max_turns);

  struct Turn {
    int task = 0;
    int finalist = 0;
  };
  // The next turn not yet handed out; false: none left. All turns of a task follow each other,
  // its finalists alternating.
  bool Next(Turn* turn);
  // Turns handed out and not reported.
  int pending() const { return pending_; }

  const Finalist& finalist(const Turn& turn) const { return finalists_[turn.task][turn.finalist]; }
  // A turn's time; 0: it failed or was abandoned.
  void Report(int task, const schedule::Schedule& schedule, double us);

  // The winner of a task by the mean of its turns: a finalist with at least one; null: none.
  const Finalist* Winner(int task) const;
  int turns() const { return static_cast<int>(turns_.size()); }
  // Every turn was handed out and reported.
  bool done() const { return next_ == turns_.size() && pending_ == 0; }

 private:
  std::vector<std::vector<Finalist>> finalists_;
  std::vector<Turn> turns_;
  size_t next_ = 0;
  int pending_ = 0;
};

}  // namespace temper::tuner
