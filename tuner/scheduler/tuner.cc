#include "tuner/scheduler/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "costmodel/cost_model.h"
#include "tuner/scheduler/correlation.h"
#include "tuner/scheduler/final_round.h"
#include "tuner/scheduler/gain.h"
#include "tuner/scheduler/hints.h"
#include "tuner/search/evaluate.h"

namespace temper::tuner {
namespace {

constexpr int kBatch = 16;                  // candidates of one task at a time
constexpr size_t kMaxRecords = 1500;        // of a task that train the cost model at the start
constexpr double kTrainShare = 0.1;         // of the time, that training may take
constexpr double kFirstTrainSeconds = 1;    // that it may take in any case
constexpr double kKnownWeight = 0.1;        // of a measurement of another model's task
constexpr double kFinalReserve = 0.06;      // of the seconds, at most
constexpr double kFinalTurnSeconds = 0.05;  // what a turn of the final round takes
constexpr double kDrainSeconds = 0.4;       // for what is being measured when it begins
constexpr double kFinalTrialShare = 0.1;    // turns to trials, where those are the budget
constexpr int kFewFinalTurns = 12;          // are always made, unless time is short

// What a proposal waits for.
struct Pending {
  costmodel::ProgramFeatures features;
  double score = 0;
  int64_t group = 0;
};

struct Task {
  std::string name;
  TaskProgress progress;
  std::unique_ptr<TaskSearch> search;
  std::map<Hash, Pending> pending;
  std::vector<Measured> best;      // fastest first, as many as the final round takes
  std::optional<Measured> winner;  // of the final round
  int64_t trials = 0, failed = 0;
};

}  // namespace

struct ModelTuner::Impl {
  std::vector<Task> tasks;
  Target target;
  TunerOptions options;
  const Clock* clock = nullptr;
  Rng rng{1};
  std::unique_ptr<costmodel::CostModel> model;
  PredictionTracker tracker;
  std::map<int64_t, int> group_left;  // results a group still waits for
  int64_t next_group = 0;
  int64_t proposed = 0;  // less the abandoned
  int64_t pending = 0;
  int64_t learned = 0;
  double start = 0, search_seconds = 0, train_seconds = 0;
  std::optional<FinalRound> final_round;

  double Elapsed() const { return clock->NowSeconds() - start; }

  // The candidates of the final round each task would send now.
  int Finalists() const {
    int turns = 0;
    for (const Task& t : tasks) {
      turns += std::min<int>(static_cast<int>(t.best.size()), options.final_candidates);
    }
    return turns * kFinalTurns;
  }

  bool SearchTimeOver() const {
    double seconds = options.budget.seconds;
    if (seconds <= 0) return false;
    double reserve =
        options.final_candidates > 0
            ? std::min(kFinalReserve * seconds, kDrainSeconds + kFinalTurnSeconds * Finalists())
            : 0;
    return Elapsed() >= seconds - reserve;
  }

  // Turns of the final round that the budget has room for.
  int FinalTurns() const {
    const Budget& b = options.budget;
    double turns = 1e6;
    if (b.trials > 0) {
      turns = std::max<double>(kFewFinalTurns, kFinalTrialShare * static_cast<double>(b.trials));
    }
    if (b.seconds > 0) {
      turns = std::min(turns, std::max(0.0, b.seconds - Elapsed()) / kFinalTurnSeconds);
    }
    return static_cast<int>(turns);
  }

  bool SearchOver() const {
    const Budget& b = options.budget;
    if (b.trials > 0 && proposed >= b.trials) return true;
    if (SearchTimeOver()) return true;
    return std::all_of(tasks.begin(), tasks.end(),
                       [](const Task& t) { return t.progress.exhausted; });
  }

  // The space that a record's schedule is of, or the first.
  static const Space& SpaceOf(const TaskSearch& search, const schedule::Schedule& schedule) {
    for (const Space& space : search.spaces()) {
      if (space.alternative() == schedule.alternative) return space;
    }
    return search.spaces()[0];
  }

  int PickNext() {
    std::vector<const TaskProgress*> progress;
    for (const Task& t : tasks) progress.push_back(&t.progress);
    return PickTask(progress, rng);
  }

  void ProposeFor(int number, int n, std::vector<Candidate>* out) {
    Task& task = tasks[number];
    std::vector<Scored> found = task.search->Propose(n, *model);
    task.progress.exhausted = task.search->exhausted();
    int64_t group = next_group++;
    for (Scored& s : found) {
      out->push_back({number, s.schedule, task.progress.best_us(), false});
      Hash hash = schedule::ScheduleHash(s.schedule);
      task.pending[hash] = {std::move(s.features), s.score, group};
      ++group_left[group];
      ++task.progress.trials;
      ++proposed;
      ++pending;
    }
  }

  void ProposeFinal(int n, std::vector<Candidate>* out) {
    if (!final_round) {
      std::vector<std::vector<Finalist>> finalists;
      std::vector<double> worth;
      for (const Task& t : tasks) {
        auto& list = finalists.emplace_back();
        worth.push_back(t.best.empty() ? 0 : t.progress.weight * t.best[0].us);
        for (const Measured& m : t.best) {
          if (static_cast<int>(list.size()) == options.final_candidates) break;
          if (m.us > kFinalMargin * t.best[0].us) break;
          list.push_back({m.schedule, m.us, {}});
        }
      }
      final_round.emplace(std::move(finalists), worth, FinalTurns());
    }
    FinalRound::Turn turn;
    while (static_cast<int>(out->size()) < n && final_round->Next(&turn)) {
      out->push_back({turn.task, final_round->finalist(turn).schedule, 0, true});
    }
  }

  // The pending proposal of a result, taken out; none if it is not one of ours.
  std::optional<Pending> Take(int number, const schedule::Schedule& schedule) {
    Task& task = tasks[number];
    auto it = task.pending.find(schedule::ScheduleHash(schedule));
    if (it == task.pending.end()) return std::nullopt;
    Pending taken = std::move(it->second);
    task.pending.erase(it);
    --pending;
    return taken;
  }

  void CloseGroup(int64_t group) {
    auto it = group_left.find(group);
    if (it == group_left.end() || --it->second > 0) return;
    tracker.Close(group);
    group_left.erase(it);
  }

  void KeepBest(Task& task, const Measured& m) {
    auto at = std::upper_bound(task.best.begin(), task.best.end(), m.us,
                               [](double us, const Measured& other) { return us < other.us; });
    size_t limit = std::max(1, options.final_candidates);
    if (static_cast<size_t>(at - task.best.begin()) >= limit) return;
    for (const Measured& known : task.best) {
      if (known.schedule == m.schedule) return;
    }
    task.best.insert(at, m);
    if (task.best.size() > limit) task.best.pop_back();
  }

  // A result that counts: for the best, the search and, where its features are known, the model.
  void Learn(const Measured& m, std::optional<costmodel::ProgramFeatures> features,
             std::vector<costmodel::Sample>* samples) {
    Task& task = tasks[m.task];
    task.search->Know(m.schedule, m.outcome, m.us);
    bool ok = m.outcome == Outcome::kOk && m.us > 0;
    if (ok) KeepBest(task, m);
    double best = task.progress.best_us();
    if (ok && (best == 0 || m.us < best)) best = m.us;
    task.progress.best.push_back(best);
    if (!features || !IsConclusive(m.outcome)) return;
    samples->push_back({m.task, std::move(*features), ok ? m.us : 0});
  }

  // Hands samples to the model, which trains on them when there are enough and there is time.
  Status Train(const std::vector<costmodel::Sample>& samples) {
    learned += static_cast<int64_t>(samples.size());
    TEMPER_RETURN_IF_ERROR(model->Update(samples));
    bool time = train_seconds < std::max(kFirstTrainSeconds, kTrainShare * Elapsed());
    if (!model->WantsTraining() || !time) return OkStatus();
    double before = clock->NowSeconds();
    Status status = model->Train();
    train_seconds += clock->NowSeconds() - before;
    return status;
  }

  // Measurements of other models' tasks, numbered after our own.
  Status LearnKnownTasks(const std::vector<KnownTask>& known) {
    for (Task& task : tasks) SuggestFrom(known, target, options.threads, *task.search);
    std::vector<costmodel::Sample> samples;
    int number = static_cast<int>(tasks.size());
    for (const KnownTask& task : known) {
      for (const Measured& m : task.results) {
        if (!IsConclusive(m.outcome)) continue;
        auto features = Describe(task.program, m.schedule, target, task.constants);
        if (!features.ok()) continue;
        double us = m.outcome == Outcome::kOk ? m.us : 0;
        samples.push_back({number, std::move(*features), us, kKnownWeight});
      }
      ++number;
    }
    return model->Update(samples);
  }

  void LearnRecords(std::span<const Measured> records) {
    std::vector<std::vector<const Measured*>> of_task(tasks.size());
    for (const Measured& m : records) {
      if (m.task >= 0 && m.task < static_cast<int>(tasks.size())) of_task[m.task].push_back(&m);
    }
    std::vector<costmodel::Sample> samples;
    for (size_t t = 0; t < tasks.size(); ++t) {
      size_t described = 0;
      for (const Measured* m : of_task[t]) {
        std::optional<costmodel::ProgramFeatures> features;
        if (described < kMaxRecords && IsConclusive(m->outcome)) {
          auto d = Describe(SpaceOf(*tasks[t].search, m->schedule), m->schedule);
          if (d.ok()) {
            features = std::move(*d);
            ++described;
          }
        }
        Learn(*m, std::move(features), &samples);
      }
      // Trials of earlier runs count as attention, so that a task that was searched for long
      // does not look new.
      tasks[t].progress.trials = static_cast<int64_t>(of_task[t].size());
    }
    if (Status status = Train(samples); !status.ok()) model = costmodel::MakePriorModel();
    train_seconds = 0;  // what was known before is learned once, and is no retraining
  }
};

ModelTuner::ModelTuner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelTuner::~ModelTuner() = default;

Result<std::unique_ptr<ModelTuner>> ModelTuner::Create(std::vector<TunerTask> tasks,
                                                       const Target& target, TunerOptions options,
                                                       std::span<const Measured> records,
                                                       const Clock* clock) {
  auto impl = std::make_unique<Impl>();
  impl->target = target;
  impl->clock = clock;
  impl->start = clock->NowSeconds();
  impl->rng = Rng(options.seed);
  costmodel::BoostedOptions boosted;
  boosted.seed = options.seed;
  impl->model = options.learn ? costmodel::MakeBoostedModel(boosted) : costmodel::MakePriorModel();
  if (options.learn && !options.model.empty()) {
    TEMPER_RETURN_IF_ERROR(impl->model->Load(options.model).WithContext("the saved cost model"));
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    TEMPER_RETURN_IF_ERROR(te::Verify(tasks[i].program).WithContext("task " + tasks[i].name));
    Task task;
    task.name = tasks[i].name;
    task.progress.weight = tasks[i].weight;
    task.progress.flops = std::max(1.0, te::FlopCount(tasks[i].program));
    task.search = std::make_unique<TaskSearch>(
        SpacesOf(tasks[i].program, target, options.threads, options.numerics, tasks[i].constants),
        impl->rng.Fork(i).Next(), options.search);
    // One sample's prior tells heavy tasks from light ones before anything is measured.
    const Space& space = task.search->spaces()[0];
    Rng rng(1);
    auto described = Describe(space, space.Emit(space.Sample(rng, 0)));
    task.progress.expected_us = described.ok() ? described->prior_us : 1;
    impl->tasks.push_back(std::move(task));
  }
  const std::vector<KnownTask> known = std::move(options.known_tasks);
  impl->options = std::move(options);
  TEMPER_RETURN_IF_ERROR(impl->LearnKnownTasks(known));
  impl->LearnRecords(records);
  return std::unique_ptr<ModelTuner>(new ModelTuner(std::move(impl)));
}

std::vector<Candidate> ModelTuner::Propose(int n) {
  Impl& s = *impl_;
  std::vector<Candidate> out;
  double before = s.clock->NowSeconds();
  while (static_cast<int>(out.size()) < n && !s.final_round && !s.SearchOver()) {
    int64_t left = n - static_cast<int>(out.size());
    if (s.options.budget.trials > 0) {
      left = std::min(left, s.options.budget.trials - s.proposed);
    }
    int task = s.PickNext();
    if (task < 0) break;
    s.ProposeFor(task, static_cast<int>(std::min<int64_t>(left, kBatch)), &out);
  }
  // The final round waits for every result: any of them may be a finalist.
  bool over = s.final_round || s.SearchOver();
  if (out.empty() && over && s.pending == 0 && s.options.final_candidates > 0) {
    s.ProposeFinal(n, &out);
  }
  s.search_seconds += s.clock->NowSeconds() - before;
  return out;
}

void ModelTuner::Observe(std::span<const Measured> results) {
  Impl& s = *impl_;
  std::vector<costmodel::Sample> samples;
  for (const Measured& m : results) {
    if (m.task < 0 || m.task >= static_cast<int>(s.tasks.size())) continue;
    Task& task = s.tasks[m.task];
    if (m.final && s.final_round) {
      s.final_round->Report(m.task, m.schedule, m.outcome == Outcome::kOk ? m.us : 0);
      if (const Finalist* winner = s.final_round->Winner(m.task)) {
        double us = *std::min_element(winner->final_us.begin(), winner->final_us.end());
        task.winner = Measured{m.task, winner->schedule, Outcome::kOk, us, true};
      }
      continue;
    }
    std::optional<Pending> pending = s.Take(m.task, m.schedule);
    std::optional<costmodel::ProgramFeatures> features;
    if (pending) {
      ++task.trials;
      if (m.outcome != Outcome::kOk) ++task.failed;
      if (m.outcome == Outcome::kOk) s.tracker.Add(pending->group, pending->score, m.us);
      s.CloseGroup(pending->group);
      features = std::move(pending->features);
    }
    s.Learn(m, std::move(features), &samples);
  }
  // Without the trees the prior goes on ranking.
  if (!samples.empty() && !s.Train(samples).ok()) s.model = costmodel::MakePriorModel();
}

void ModelTuner::Abandon(const Candidate& candidate) {
  Impl& s = *impl_;
  if (candidate.task < 0 || candidate.task >= static_cast<int>(s.tasks.size())) return;
  if (candidate.final) {
    if (s.final_round) s.final_round->Report(candidate.task, candidate.schedule, 0);
    return;
  }
  auto pending = s.Take(candidate.task, candidate.schedule);
  if (!pending) return;
  s.CloseGroup(pending->group);
  --s.proposed;
  --s.tasks[candidate.task].progress.trials;
  s.tasks[candidate.task].search->Know(candidate.schedule, Outcome::kInfrastructure, 0);
}

bool ModelTuner::Done() const {
  const Impl& s = *impl_;
  if (s.pending > 0) return false;
  if (s.final_round) return s.final_round->done();
  return s.SearchOver() && (s.options.final_candidates <= 0 || s.Finalists() == 0);
}

TunerState ModelTuner::Snapshot() const {
  const Impl& s = *impl_;
  TunerState state;
  bool all = !s.tasks.empty();
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    const Task& t = s.tasks[i];
    TaskState row;
    row.name = t.name;
    row.weight = t.progress.weight;
    if (const Measured* best = Best(static_cast<int>(i))) row.best_us = best->us;
    row.gflops = row.best_us > 0 ? t.progress.flops / row.best_us * 1e-3 : 0;
    row.trials = t.trials;
    row.failed = t.failed;
    state.trials += t.trials;
    state.model_us += row.weight * row.best_us;
    all = all && row.best_us > 0;
    state.tasks.push_back(std::move(row));
  }
  for (TaskState& row : state.tasks) {
    row.share = state.model_us > 0 ? row.weight * row.best_us / state.model_us : 0;
  }
  if (!all) state.model_us = 0;
  state.elapsed_seconds = s.Elapsed();
  const Budget& budget = s.options.budget;
  double by_trials = 0, by_time = 0;
  if (budget.trials > 0 && state.trials > 0) {
    by_trials = state.elapsed_seconds / static_cast<double>(state.trials) *
                static_cast<double>(std::max<int64_t>(budget.trials - state.trials, 0));
  }
  if (budget.seconds > 0) by_time = std::max(0.0, budget.seconds - state.elapsed_seconds);
  bool both = budget.trials > 0 && budget.seconds > 0 && state.trials > 0;
  state.remaining_seconds = both ? std::min(by_trials, by_time) : std::max(by_trials, by_time);
  state.rank_correlation = s.tracker.correlation();
  state.correlated = s.tracker.count();
  state.learned = s.learned;
  state.final_round = s.final_round.has_value();
  state.search_time_over = s.SearchTimeOver();
  state.search_seconds = s.search_seconds;
  state.train_seconds = s.train_seconds;
  return state;
}

const Measured* ModelTuner::Best(int task) const {
  const Task& t = impl_->tasks[task];
  if (t.winner) return &*t.winner;
  return t.best.empty() ? nullptr : &t.best[0];
}

std::string ModelTuner::SaveModel() const { return impl_->model->Save(); }

}  // namespace temper::tuner
