// Measures random candidates, for evaluating cost models: a tuner-server whose search draws
// schedules at random, without a model and without early stop.
//
//   costmodel_collect DB [SEED]           listens on a free port, printed as the first line
//   measure-worker --server ADDRESS
//   temper tune MODEL.onnx --server ADDRESS --trials N --time 1h
//
// Of the model's heaviest task, every alternative of its program as many. Records of earlier runs
// are not measured again. `temper db export` makes JSON lines of the result; costmodel_evaluate
// reads the database.

#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/core_lock.h"
#include "base/ending_signals.h"
#include "compiler/lower/lower.h"
#include "db/sqlite_store.h"
#include "tuner/search/task_search.h"
#include "tuner/server/grpc_server.h"

namespace temper::tuner {
namespace {

class RandomTuner final : public JobTuner {
 public:
  RandomTuner(std::vector<TunerTask> tasks, const Target& target, const TunerOptions& options,
              std::span<const Measured> records, const Clock* clock)
      : tasks_(std::move(tasks)), options_(options), rng_(options.seed), clock_(clock) {
    start_ = clock->NowSeconds();
    for (const TunerTask& t : tasks_) {
      spaces_.push_back(
          SpacesOf(t.program, target, options.threads, te::kDefaultNumerics, t.constants));
      if (te::FlopCount(t.program) > te::FlopCount(tasks_[heaviest_].program)) {
        heaviest_ = spaces_.size() - 1;
      }
      state_.tasks.push_back({t.name, t.weight});
    }
    for (const Measured& m : records) seen_.insert(schedule::ScheduleHash(m.schedule));
  }

  std::vector<Candidate> Propose(int n) override {
    std::vector<Candidate> out;
    for (int tries = 50 * n; tries > 0 && static_cast<int>(out.size()) < n; --tries) {
      if (proposed_ >= options_.budget.trials) break;
      const auto& spaces = spaces_[heaviest_];
      const Space& space = spaces[turn_++ % spaces.size()];
      schedule::Schedule s = space.Emit(space.Sample(rng_));
      if (!lower::LowerToLoops(tasks_[heaviest_].program, s, space.target()).ok()) continue;
      if (!seen_.insert(schedule::ScheduleHash(s)).second) continue;
      out.push_back({static_cast<int>(heaviest_), std::move(s), 0, false});
      ++proposed_;
      ++pending_;
    }
    if (out.empty()) exhausted_ = true;
    return out;
  }
  void Observe(std::span<const Measured> results) override {
    for (const Measured& m : results) {
      --pending_;
      ++state_.trials;
      TaskState& t = state_.tasks[m.task];
      ++t.trials;
      if (m.outcome == Outcome::kOk && (t.best_us == 0 || m.us < t.best_us)) t.best_us = m.us;
    }
  }
  void Abandon(const Candidate&) override { --pending_; }
  bool Done() const override {
    return pending_ == 0 && (exhausted_ || proposed_ >= options_.budget.trials);
  }
  std::string SaveModel() const override { return {}; }
  TunerState Snapshot() const override {
    TunerState state = state_;
    state.elapsed_seconds = clock_->NowSeconds() - start_;
    return state;
  }

 private:
  std::vector<TunerTask> tasks_;
  TunerOptions options_;
  std::vector<std::vector<Space>> spaces_;
  std::set<Hash> seen_;
  Rng rng_;
  const Clock* clock_;
  TunerState state_;
  double start_ = 0;
  size_t heaviest_ = 0, turn_ = 0;
  int64_t proposed_ = 0, pending_ = 0;
  bool exhausted_ = false;
};

int Fail(const Status& status) {
  std::fprintf(stderr, "costmodel_collect: %s\n", status.message().c_str());
  return 1;
}

int Run(const std::string& path, uint64_t seed) {
  auto signals = EndingSignals::Block();
  if (!signals.ok()) return Fail(signals.status());
  db::SqliteOptions store_options;
  store_options.create = true;
  auto store = db::OpenSqliteStore(path, store_options);
  if (!store.ok()) return Fail(store.status());
  SystemClock clock;
  ServiceOptions options;
  if (auto folder = CoreLockFolder(); folder.ok()) options.core_lock_folder = *folder;
  auto factory = [seed](std::vector<TunerTask> tasks, const Target& target, TunerOptions o,
                        std::span<const Measured> records,
                        const Clock* c) -> Result<std::unique_ptr<JobTuner>> {
    o.seed = seed;
    return std::unique_ptr<JobTuner>(
        std::make_unique<RandomTuner>(std::move(tasks), target, o, records, c));
  };
  TuningService service(options, store->get(), &clock, factory,
                        Logger::Stderr("costmodel_collect", LogLevel::kWarning));
  auto server = StartGrpcServer("127.0.0.1:0", &service);
  if (!server.ok()) return Fail(server.status());
  service.Start();
  std::printf("%s\n", (*server)->address().c_str());
  std::fflush(stdout);
  signals->Wait();
  service.Stop();
  (*server)->Shutdown(2);
  return 0;
}

}  // namespace
}  // namespace temper::tuner

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "costmodel_collect DB [SEED]\n");
    return 2;
  }
  return temper::tuner::Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
