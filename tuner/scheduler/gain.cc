#include "tuner/scheduler/gain.h"

#include <algorithm>

namespace temper::tuner {
namespace {

constexpr size_t kWindow = 32;         // trials over which the past gain is taken
constexpr double kPastShare = 0.3;     // weight of the past in the estimate
constexpr double kRandomShare = 0.05;  // of the picks
constexpr double kHoped = 0.3;         // share of a task's time that its first trials may gain

}  // namespace

double ExpectedGain(const TaskProgress& task, double best_gflops) {
  double now = task.best_us();
  auto trials = static_cast<double>(std::max<int64_t>(task.trials, 1));
  if (now <= 0) {
    // Nothing worked yet: try on, but ever less.
    return task.weight * task.expected_us / trials;
  }
  size_t n = task.best.size();
  size_t window = std::min(kWindow, n - 1);
  double before = window > 0 ? task.best[n - 1 - window] : now;
  double past = before > now ? (before - now) / static_cast<double>(window) : 0;
  // It may come as near the peak as the best task did, and nothing gains all its time.
  double possible = best_gflops > 0 ? task.flops / best_gflops * 1e-3 : 0;
  double ahead = std::clamp(now - possible, 0.05 * now, std::max(kHoped, 0.05) * now) / trials;
  return task.weight * (kPastShare * past + (1 - kPastShare) * ahead);
}

int PickTask(const std::vector<const TaskProgress*>& tasks, Rng& rng) {
  std::vector<int> open;
  int unseen = -1;
  double heaviest = -1, best_gflops = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskProgress& t = *tasks[i];
    if (t.best_us() > 0) best_gflops = std::max(best_gflops, t.flops / t.best_us() * 1e-3);
    if (t.exhausted) continue;
    open.push_back(static_cast<int>(i));
    if (t.trials == 0 && t.weight * t.expected_us > heaviest) {
      heaviest = t.weight * t.expected_us;
      unseen = static_cast<int>(i);
    }
  }
  if (open.empty()) return -1;
  if (unseen >= 0) return unseen;
  if (rng.Chance(kRandomShare)) return open[rng.Uniform(open.size())];
  int best = open[0];
  double most = -1;
  for (int i : open) {
    double gain = ExpectedGain(*tasks[i], best_gflops);
    if (gain > most) {
      most = gain;
      best = i;
    }
  }
  return best;
}

}  // namespace temper::tuner
