// Runs the real search on one kernel with a real worker, and writes down every trial.
//
//   search_race MODEL.onnx TRACE [--mode random|prior|model|warm] [--from DB]...
//               [--except NAME-PART] [--trials 200] [--seconds S] [--seed 1] [--threads 1]
//               [--fresh N] [--ahead N] [--keep DB] [--samples FILE] [--set OPTION=VALUE]...
//               [--bin FOLDER] [--constants cold|warm]
//
// The model's heaviest task is tuned by the classes that tuner-server consists of, over a store in
// memory. Modes: *random* draws candidates without any model; *prior* learns nothing; *model* is
// the search as it is; *warm* is the same with the records of the databases --from (of the kernel's
// own records none, nor of tasks whose name has --except in it). --fresh then measures N random
// legal candidates that are no trials of the search, with what the trained model predicts for each.
// --keep adds the run's records to a database; --samples writes down what the cost model saw of
// each trial and what came of it, for costmodel_replay; --ahead is how many candidates a young
// search keeps ready, --set one of SearchOptions (tuner/search/task_search.h). With --constants
// warm a kernel's large constants stay in the caches while it is timed, as in other tuners; else
// they are cold, as in a model. `race_report.py` reads traces.
//
// A trace is text: a line `race KEY=VALUE...`, then a line a trial,
//   KIND SECONDS US OUTCOME ALTERNATIVE PREDICTED_US PRIOR_US SCHEDULE
// KIND is t (a trial), f (of the final round) or r (a fresh random one). US is normalized by the
// control kernel, as records are. PREDICTED_US is of r alone. SCHEDULE is the schedule's short
// hash: one of the final round was a trial before. After the line `end` follow
//   m SCHEDULE US CONTROL_US
// the times as they were, of a schedule's best timing and of the control kernel meanwhile.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/core_lock.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "compiler/driver/kernels.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_target.h"
#include "db/memory_store.h"
#include "db/sqlite_store.h"
#include "tuner/client/local_services.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/task_search.h"
#include "tuner/server/grpc_server.h"

namespace temper::tuner {
namespace {

struct Flags {
  std::string model, trace, mode = "model", except, keep, samples, bin = OwnProgramFolder();
  std::vector<std::string> from;
  int64_t trials = 200;
  double seconds = 0;
  uint64_t seed = 1;
  int threads = 1;
  bool warm_constants = false;
  int fresh = 0;
  int ahead = ServiceOptions().first_ahead;
  SearchOptions search;
};

// Sets an option of the search, such as random_share=0.2; false: there is none of that name.
bool Set(SearchOptions& options, const std::string& text) {
  size_t at = text.find('=');
  if (at == std::string::npos) return false;
  const std::string name = text.substr(0, at);
  const double value = std::strtod(text.c_str() + at + 1, nullptr);
  const std::pair<const char*, double*> shares[] = {{"random_share", &options.random_share},
                                                    {"prior_share", &options.prior_share},
                                                    {"fair_share", &options.fair_share},
                                                    {"hint_share", &options.hint_share}};
  for (const auto& [known, where] : shares) {
    if (name == known) *where = value;
    if (name == known) return true;
  }
  if (name == "per_proposal") options.per_proposal = static_cast<int>(value);
  return name == "per_proposal";
}

// A search that also writes down what comes of it, and goes on with random candidates.
class Racer final : public JobTuner {
 public:
  Racer(std::unique_ptr<ModelTuner> tuner, const TunerTask& task, const Target& target,
        const TunerOptions& options, int fresh, std::FILE* trace, std::FILE* samples,
        const Clock* clock)
      : tuner_(std::move(tuner)),
        program_(task.program),
        target_(target),
        spaces_(
            SpacesOf(task.program, target, options.threads, te::kDefaultNumerics, task.constants)),
        fresh_(fresh),
        trace_(trace),
        samples_(samples),
        clock_(clock),
        start_(clock->NowSeconds()),
        rng_(options.seed + 1000) {}

  std::vector<Candidate> Propose(int n) override {
    std::vector<Candidate> out = tuner_->Propose(n);
    for (const Candidate& c : out) seen_.insert(schedule::ScheduleHash(c.schedule));
    if (!out.empty() || !tuner_->Done()) return out;
    for (int tries = 50 * n; tries > 0 && fresh_ > 0 && static_cast<int>(out.size()) < n; --tries) {
      const Space& space = spaces_[turn_++ % spaces_.size()];
      schedule::Schedule s = space.Emit(space.Sample(rng_));
      auto features = Describe(space, s);
      Hash hash = schedule::ScheduleHash(s);
      if (!features.ok() || !seen_.insert(hash).second) continue;
      const auto& model = Trained();
      const costmodel::ProgramFeatures* described = &*features;
      double score = model.Predict({&described, 1})[0];
      random_[hash] = {model.Microseconds(*features, score), features->prior_us};
      out.push_back({0, std::move(s), 0, false});
      --fresh_;
    }
    if (out.empty()) fresh_ = 0;
    return out;
  }

  void Observe(std::span<const Measured> results) override {
    std::vector<Measured> own;
    for (const Measured& m : results) {
      auto random = random_.find(schedule::ScheduleHash(m.schedule));
      bool is_random = random != random_.end();
      auto predicted = is_random ? random->second : std::pair<double, double>{0, Prior(m.schedule)};
      fmt::print(trace_, "{} {:.3f} {:.4f} {} {} {:.3f} {:.3f} {}\n",
                 is_random ? 'r'
                 : m.final ? 'f'
                           : 't',
                 clock_->NowSeconds() - start_, m.us, OutcomeName(m.outcome),
                 m.schedule.alternative, predicted.first, predicted.second,
                 schedule::ScheduleHash(m.schedule).ShortHex());
      if (samples_ && !m.final && IsConclusive(m.outcome)) WriteSample(m, is_random);
      if (is_random) {
        random_.erase(random);
      } else {
        own.push_back(m);
      }
    }
    std::fflush(trace_);
    if (!own.empty()) tuner_->Observe(own);
  }

  void Abandon(const Candidate& candidate) override {
    if (random_.erase(schedule::ScheduleHash(candidate.schedule)) == 0) tuner_->Abandon(candidate);
  }
  bool Done() const override { return tuner_->Done() && fresh_ == 0 && random_.empty(); }
  TunerState Snapshot() const override {
    TunerState state = tuner_->Snapshot();
    state.search_time_over = state.search_time_over && !tuner_->Done();
    return state;
  }
  std::string SaveModel() const override { return tuner_->SaveModel(); }

 private:
  // A line: whether it is a fresh one, microseconds (0: failed), the prior's, and for each store
  // its features behind a bar.
  void WriteSample(const Measured& m, bool is_random) {
    auto features = Describe(program_, m.schedule, target_);
    if (!features.ok()) return;
    fmt::print(samples_, "{} {} {}", is_random ? 'r' : 't', m.outcome == Outcome::kOk ? m.us : 0,
               features->prior_us);
    for (const auto& store : features->stores) {
      fmt::print(samples_, " |");
      for (float v : store) fmt::print(samples_, " {}", v);
    }
    fmt::print(samples_, "\n");
  }

  // What the search has learned by its end.
  const costmodel::CostModel& Trained() {
    if (trained_) return *trained_;
    std::string saved = tuner_->SaveModel();
    trained_ = saved.empty() ? costmodel::MakePriorModel() : costmodel::MakeBoostedModel({});
    if (!saved.empty() && !trained_->Load(saved).ok()) trained_ = costmodel::MakePriorModel();
    return *trained_;
  }

  double Prior(const schedule::Schedule& s) const {
    for (const Space& space : spaces_) {
      if (space.alternative() != s.alternative) continue;
      auto features = Describe(space, s);
      return features.ok() ? features->prior_us : 0;
    }
    return 0;
  }

  std::unique_ptr<ModelTuner> tuner_;
  std::unique_ptr<costmodel::CostModel> trained_;
  te::Program program_;
  Target target_;
  std::vector<Space> spaces_;
  int fresh_;
  std::FILE* trace_;
  std::FILE* samples_;  // null: they are not wanted
  const Clock* clock_;
  double start_;
  Rng rng_;
  size_t turn_ = 0;
  std::set<Hash> seen_;
  std::map<Hash, std::pair<double, double>> random_;  // predicted and the prior's, being measured
};

Result<driver::TuningTask> HeaviestTask(const std::string& model, const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(auto tasks, driver::ExtractTasks(model, {}, target));
  driver::TuningTask* heaviest = nullptr;
  for (auto& t : tasks) {
    if (!heaviest || te::FlopCount(t.program) > te::FlopCount(heaviest->program)) heaviest = &t;
  }
  if (!heaviest) return NotFound("no task in " + model);
  return std::move(*heaviest);
}

// What the warm start knows: everything of the databases that is not of the task itself.
Status CopyRecords(const Flags& flags, const Hash& own, db::Store& store) {
  std::vector<db::Record> records;
  for (const std::string& path : flags.from) {
    TEMPER_ASSIGN_OR_RETURN(auto from, db::OpenSqliteStoreReadOnly(path, {}));
    TEMPER_RETURN_IF_ERROR(from->ForEach({}, [&](const db::Record& record) {
      bool excepted =
          !flags.except.empty() && record.task_name.find(flags.except) != std::string::npos;
      if (record.key.workload != own && !excepted) records.push_back(record);
      return true;
    }));
  }
  fmt::print(stderr, "{} records of other tasks\n", records.size());
  return store.Put(records);
}

Status KeepRecords(const std::string& path, const Hash& own, db::Store& store) {
  db::SqliteOptions options;
  options.create = true;
  TEMPER_ASSIGN_OR_RETURN(auto to, db::OpenSqliteStore(path, options));
  std::vector<db::Record> records;
  db::RecordFilter filter;
  filter.workload = own;
  TEMPER_RETURN_IF_ERROR(store.ForEach(filter, [&](const db::Record& record) {
    records.push_back(record);
    return true;
  }));
  return to->Merge(records).status();
}

// The control kernel's time by which the run's times are normalized.
double ControlReference(const Hash& own, db::Store& store) {
  double us = 0;
  db::RecordFilter filter;
  filter.workload = own;
  Status read = store.ForEach(filter, [&](const db::Record& record) {
    if (record.outcome == Outcome::kOk) us = record.control_us / record.drift;
    return us <= 0;
  });
  return read.ok() ? us : 0;
}

void WriteTimes(const Hash& own, db::Store& store, std::FILE* trace) {
  db::RecordFilter filter;
  filter.workload = own;
  (void)store
      .ForEach(filter,
               [&](const db::Record& r) {
                 if (r.outcome == Outcome::kOk) {
                   fmt::print(trace, "m {} {:.4f} {:.4f}\n", r.schedule_hash.ShortHex(),
                              r.median_us, r.control_us);
                 }
                 return true;
               })
      .ok();
}

int Fail(const Status& status) {
  fmt::print(stderr, "search_race: {}\n", status.message());
  return 1;
}

Status Race(const Flags& flags, std::FILE* trace, std::FILE* samples) {
  db::MemoryStore store;
  SystemClock clock;
  ServiceOptions options;
  options.first_ahead = flags.ahead;
  if (auto folder = CoreLockFolder(); folder.ok()) options.core_lock_folder = *folder;
  auto factory = [&](std::vector<TunerTask> tasks, const Target& t, TunerOptions o,
                     std::span<const Measured> records,
                     const Clock* c) -> Result<std::unique_ptr<JobTuner>> {
    o.search = flags.search;
    if (flags.mode == "random") o.search.random_share = 1;
    o.learn = flags.mode == "model" || flags.mode == "warm";
    o.budget = {flags.trials, flags.seconds};
    TunerTask first = tasks[0];
    TunerOptions copy = o;
    TEMPER_ASSIGN_OR_RETURN(auto tuner,
                            ModelTuner::Create(std::move(tasks), t, std::move(o), records, c));
    return std::unique_ptr<JobTuner>(
        std::make_unique<Racer>(std::move(tuner), first, t, copy, flags.fresh, trace, samples, c));
  };
  TuningService service(options, &store, &clock, factory,
                        Logger::Stderr("search_race", LogLevel::kWarning));
  TEMPER_ASSIGN_OR_RETURN(auto server, StartGrpcServer("127.0.0.1:0", &service));
  service.Start();
  SubprocessOptions child;
  child.argv = {flags.bin + "/measure-worker", "--server", server->address(), "--threads",
                std::to_string(flags.threads)};
  child.stderr_mode = Stdio::kNull;
  child.die_with_parent = true;
  TEMPER_ASSIGN_OR_RETURN(Subprocess worker, Subprocess::Start(child));
  proto::ListDevicesReply devices;
  for (int i = 0; i < 1000 && devices.devices_size() == 0; ++i) {
    if (worker.Poll()) return Unavailable("measure-worker ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    TEMPER_ASSIGN_OR_RETURN(devices, service.ListDevices());
  }
  if (devices.devices_size() == 0) return Unavailable("measure-worker did not register");
  // The worker's, with the rates that it measured: the prior ranks by them.
  TEMPER_ASSIGN_OR_RETURN(const Target target, wire::FromProto(devices.devices(0).target()));
  TEMPER_ASSIGN_OR_RETURN(driver::TuningTask task, HeaviestTask(flags.model, target));
  if (flags.mode == "warm") TEMPER_RETURN_IF_ERROR(CopyRecords(flags, task.hash, store));
  std::string name = flags.model.substr(flags.model.rfind('/') + 1);
  fmt::print(trace, "race kernel={} mode={} seed={} threads={} trials={} control_gflops={:.1f}\n",
             name.substr(0, name.rfind('.')), flags.mode, flags.seed, flags.threads, flags.trials,
             devices.devices(0).control_gflops());
  proto::SubmitJobRequest request;
  request.set_model(name.substr(0, 200));
  request.set_threads(flags.threads);
  request.set_seed(flags.seed);
  // The job's own budget is only a bound; the search has the one that was asked for.
  request.set_trials(flags.trials + flags.fresh + 1000);
  *request.mutable_target() = wire::ToProto(target);
  proto::TaskSpec* spec = request.add_tasks();
  spec->set_name(task.name.substr(0, 200));
  spec->set_weight(1);
  spec->set_warm_constants(flags.warm_constants);
  *spec->mutable_workload() = wire::ToProto(task.program);
  TEMPER_ASSIGN_OR_RETURN(auto job, service.SubmitJob(request));
  proto::WatchJobRequest watch;
  watch.set_job(job.job());
  watch.set_wait_seconds(1);
  while (true) {
    TEMPER_ASSIGN_OR_RETURN(auto status, service.WatchJob(watch));
    watch.set_version(status.version());
    if (status.phase() == proto::JOB_PHASE_DONE) {
      fmt::print(trace, "end seconds={:.3f} trials={} correlation={:.3f} control_us={:.4f}\n",
                 status.seconds(), status.trials(), status.rank_correlation(),
                 ControlReference(task.hash, store));
      WriteTimes(task.hash, store, trace);
      break;
    }
    if (status.phase() > proto::JOB_PHASE_DONE) return Internal(status.message());
    if (worker.Poll()) return Unavailable("measure-worker ended");
  }
  worker.Signal(SIGTERM);
  (void)worker.Wait(10).ok();
  service.Stop();
  server->Shutdown(2);
  return flags.keep.empty() ? OkStatus() : KeepRecords(flags.keep, task.hash, store);
}

int Run(const Flags& flags) {
  std::FILE* trace = std::fopen(flags.trace.c_str(), "w");
  if (!trace) return Fail(ErrnoStatus(errno, "cannot write " + flags.trace));
  std::FILE* samples = nullptr;
  if (!flags.samples.empty()) {
    samples = std::fopen(flags.samples.c_str(), "w");
    if (!samples) return Fail(ErrnoStatus(errno, "cannot write " + flags.samples));
  }
  Status status = Race(flags, trace, samples);
  bool written = std::fclose(trace) == 0;
  if (samples) written = std::fclose(samples) == 0 && written;
  if (!status.ok()) return Fail(status);
  return written ? 0 : Fail(DataLoss("the trace is not written"));
}

int Usage() {
  fmt::print(stderr,
             "search_race MODEL.onnx TRACE [--mode random|prior|model|warm] [--from DB]... "
             "[--except NAME-PART] [--trials N] [--seconds S] [--seed N] [--threads N] "
             "[--fresh N] [--ahead N] [--keep DB] [--samples FILE] [--set OPTION=VALUE]... "
             "[--bin FOLDER] [--constants cold|warm]\n");
  return 2;
}

}  // namespace
}  // namespace temper::tuner

int main(int argc, char** argv) {
  temper::tuner::Flags flags;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (!arg.starts_with("--")) {
      plain.push_back(arg);
      continue;
    }
    if (i + 1 == argc) return temper::tuner::Usage();
    std::string value = argv[++i];
    if (arg == "--mode") {
      flags.mode = value;
    } else if (arg == "--from") {
      flags.from.push_back(value);
    } else if (arg == "--set") {
      if (!temper::tuner::Set(flags.search, value)) return temper::tuner::Usage();
    } else if (arg == "--keep") {
      flags.keep = value;
    } else if (arg == "--samples") {
      flags.samples = value;
    } else if (arg == "--except") {
      flags.except = value;
    } else if (arg == "--constants") {
      if (value != "cold" && value != "warm") return temper::tuner::Usage();
      flags.warm_constants = value == "warm";
    } else if (arg == "--bin") {
      flags.bin = value;
    } else if (arg == "--trials") {
      flags.trials = std::strtoll(value.c_str(), nullptr, 10);
    } else if (arg == "--seconds") {
      flags.seconds = std::strtod(value.c_str(), nullptr);
    } else if (arg == "--seed") {
      flags.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (arg == "--threads") {
      flags.threads = std::atoi(value.c_str());
    } else if (arg == "--ahead") {
      flags.ahead = std::atoi(value.c_str());
    } else if (arg == "--fresh") {
      flags.fresh = std::atoi(value.c_str());
    } else {
      return temper::tuner::Usage();
    }
  }
  bool warm = flags.mode == "warm";
  bool known = warm || flags.mode == "random" || flags.mode == "prior" || flags.mode == "model";
  if (plain.size() != 2 || !known || warm != !flags.from.empty() || flags.threads < 1) {
    return temper::tuner::Usage();
  }
  flags.model = plain[0];
  flags.trace = plain[1];
  return temper::tuner::Run(flags);
}
