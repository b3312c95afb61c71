// temper tune: has a model's kernels tuned by a tuner-server, and shows how that goes.
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "compiler/driver/kernels.h"
#include "compiler/target/native_target.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/model_flags.h"
#include "compiler/tools/tune_table.h"
#include "compiler/wire/measurable.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_target.h"
#include "tuner/client/client.h"
#include "tuner/client/local_services.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper tune model.onnx --local --db tuning.db --time 5m
  temper tune model.onnx --server 127.0.0.1:7400 --trials 2000 --shape input=1x3x224x224
With --local a tuner-server and a measure-worker run for as long as this command does. A later run
on the same database continues where this one ends. Without --trials and --time: --time 10m. --time
is of the whole command, its final round included.)";

constexpr double kLineSeconds = 10;    // between lines where there is no terminal
constexpr double kOutageSeconds = 60;  // a server may be away for so long
constexpr double kStopSeconds = 0.3;   // what ending the local services takes
constexpr double kLeastShare = 0.2;    // of the time that is left to the search at least
constexpr double kWorkerSeconds = 20;  // for the local worker to register

std::atomic<bool> interrupted = false;
extern "C" void OnInterrupt(int) { interrupted = true; }

struct TuneFlags {
  ModelFlags model;
  std::string server = kDefaultServer, db = "tuning.db", time, wait_for_worker = "60s";
  bool local = false, json = false, allow_unsandboxed = false;
  int64_t trials = 0;
  uint64_t seed = 1;
};

// Draws the state: a table in place on a terminal, a line now and then elsewhere.
class Display {
 public:
  explicit Display(bool quiet) : quiet_(quiet), terminal_(!quiet && isatty(STDERR_FILENO) != 0) {
    const char* no_color = getenv("NO_COLOR");
    const char* term = getenv("TERM");
    color_ = terminal_ && (no_color == nullptr || *no_color == '\0');
    if (term != nullptr && std::string_view(term) == "dumb") terminal_ = color_ = false;
  }

  void Show(const proto::JobStatus& status, bool last) {
    if (quiet_) return;
    if (!terminal_) {
      auto now = std::chrono::steady_clock::now();
      if (!last && now - shown_ < std::chrono::duration<double>(kLineSeconds)) return;
      shown_ = now;
      if (!last && !status.warning().empty() && !warned_) {
        warned_ = true;
        Warn(EscapeControl(status.warning()));
      }
      fmt::print(stderr, "{}\n", StatusLine(status));
      if (last) {
        fmt::print(stderr, "{}{}{}", StatusTable(status, 1000, false), PredictionLine(status),
                   SteadinessLine(status));
      }
      return;
    }
    winsize size{};
    int height = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
    int width = size.ws_col > 0 ? size.ws_col : 80;
    std::string text = StatusTable(status, last ? 1000 : std::max(1, height - 5), color_);
    text += StatusLine(status) + "\n";
    if (last) text += PredictionLine(status) + SteadinessLine(status);
    // Where lines stay, the caller says it at the end.
    if (!last && !status.warning().empty()) {
      text += "warning: " + EscapeControl(status.warning()) + "\n";
    }
    std::string drawn;
    if (lines_ > 0) drawn += fmt::format("\033[{}A", lines_);
    lines_ = 0;
    for (std::string_view line :
         SplitString(std::string_view(text).substr(0, text.size() - 1), '\n')) {
      // A line that wraps would spoil the count; escapes of the head take no room.
      size_t room = static_cast<size_t>(width) + (line.starts_with('\033') ? 8 : 0);
      drawn += std::string(line.substr(0, room)) + "\033[K\n";
      ++lines_;
    }
    drawn += "\033[J";
    fmt::print(stderr, "{}", drawn);
  }

 private:
  bool quiet_, terminal_, color_ = false;
  int lines_ = 0;
  bool warned_ = false;  // where there is no terminal: once while it runs
  std::chrono::steady_clock::time_point shown_{};
};

// The target to tune for: the flag's, or the one that there are workers of.
Result<Target> ChooseTarget(const TuneFlags& flags, bool given, tuner::TunerClient& client) {
  if (!given) {
    TEMPER_ASSIGN_OR_RETURN(auto devices, client.ListDevices());
    std::vector<const proto::Device*> fitting;
    for (const auto& device : devices.devices()) {
      bool usable = device.health() == "ready" && device.threads() >= flags.model.threads;
      bool known = std::any_of(fitting.begin(), fitting.end(), [&](const proto::Device* other) {
        return other->fingerprint() == device.fingerprint();
      });
      if (usable && !known) fitting.push_back(&device);
    }
    if (fitting.size() == 1) return wire::FromProto(fitting[0]->target());
    if (fitting.size() > 1) {
      return InvalidArgument(
          "workers of several targets are connected (temper devices lists "
          "them); choose one with --target");
    }
  }
  return TargetOf(flags.model.target, Logger::Stderr("temper", LogLevel::kWarning));
}

// What starts a worker that can time kernels of `threads` threads.
std::string WorkerCommand(const std::string& address, int threads) {
  return "measure-worker --server " + address +
         (threads > 1 ? " --threads " + std::to_string(threads) : "");
}

Status WaitForLocalWorker(tuner::TunerClient& client, tuner::LocalServices& local) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(kWorkerSeconds);
  while (std::chrono::steady_clock::now() < deadline && !interrupted) {
    TEMPER_RETURN_IF_ERROR(local.Check());
    TEMPER_ASSIGN_OR_RETURN(auto devices, client.ListDevices());
    if (devices.devices_size() > 0) return OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Unavailable("the local measure-worker did not start");
}

// The database of a local run is this run's alone: what an interrupted one left is not continued
// beside it. Its records are.
Status CancelLeftovers(tuner::TunerClient& client) {
  TEMPER_ASSIGN_OR_RETURN(auto jobs, client.ListJobs());
  for (const auto& job : jobs.jobs()) {
    if (job.phase() != proto::JOB_PHASE_QUEUED && job.phase() != proto::JOB_PHASE_RUNNING) continue;
    TEMPER_RETURN_IF_ERROR(client.CancelJob(job.job()).status());
  }
  return OkStatus();
}

// Watches until the job ends, the user has enough or there was no worker for `worker_seconds` in a
// row, which sets `*deserted`; then the job is cancelled.
Result<proto::JobStatus> Follow(tuner::TunerClient& client, tuner::LocalServices* local,
                                const std::string& job, double worker_seconds, Display& display,
                                bool* deserted) {
  proto::WatchJobRequest request;
  request.set_job(job);
  request.set_wait_seconds(0.5);
  proto::JobStatus status;
  auto away_since = std::chrono::steady_clock::now();
  bool away = false;
  auto worker_seen = std::chrono::steady_clock::now();
  while (!interrupted && !*deserted) {
    auto news = client.WatchJob(request);
    if (!news.ok()) {
      if (local != nullptr) TEMPER_RETURN_IF_ERROR(local->Check());
      bool may_pass = news.status().code() == Code::kUnavailable ||
                      news.status().code() == Code::kDeadlineExceeded;
      auto now = std::chrono::steady_clock::now();
      if (!away) away_since = now;
      if (!away && may_pass) Warn("the server does not answer; the job goes on when it is back");
      away = true;
      if (!may_pass || now - away_since > std::chrono::duration<double>(kOutageSeconds)) {
        return news.status().WithContext("the server was lost; what it recorded is kept");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      continue;
    }
    away = false;
    status = std::move(*news);
    if (status.phase() >= proto::JOB_PHASE_DONE) return status;
    if (local != nullptr) TEMPER_RETURN_IF_ERROR(local->Check());
    auto now = std::chrono::steady_clock::now();
    if (status.workers() > 0) worker_seen = now;
    *deserted = now - worker_seen > std::chrono::duration<double>(worker_seconds);
    request.set_version(status.version());
    display.Show(status, false);
    // Versions grow with every result; the eye needs a few a second.
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  auto cancelled = client.CancelJob(job);
  if (cancelled.ok()) return cancelled;
  return cancelled.status().WithContext("stopped watching; job " + job + " was not cancelled");
}

int Tune(const TuneFlags& flags, bool target_given) {
  auto begin = std::chrono::steady_clock::now();
  proto::SubmitJobRequest request;
  request.set_trials(flags.trials);
  if (!flags.time.empty()) {
    auto seconds = ParseDuration(flags.time);
    if (!seconds.ok()) return FailUsage("tune", "--time: " + seconds.status().message());
    request.set_seconds(*seconds);
  } else if (flags.trials == 0) {
    request.set_seconds(600);
  }
  auto worker_seconds = ParseDuration(flags.wait_for_worker);
  if (!worker_seconds.ok()) {
    return FailUsage("tune", "--wait-for-worker: " + worker_seconds.status().message());
  }
  auto frontend = MakeFrontendOptions(flags.model);
  if (!frontend.ok()) return FailUsage("tune", frontend.status().message());
  auto known = ParseTarget(flags.model.target);
  if (!known.ok()) return FailUsage("tune", "--target: " + known.status().message());

  struct sigaction action{};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  std::unique_ptr<tuner::LocalServices> local;
  std::string address = flags.server;
  if (flags.local) {
    // A model that cannot be read is told before a database is made for it.
    auto readable = driver::ExtractTasks(flags.model.model, *frontend, *known);
    if (!readable.ok()) return Fail(readable.status());
    auto started =
        tuner::LocalServices::Start({tuner::OwnProgramFolder(), flags.db, flags.model.threads,
                                     flags.allow_unsandboxed, flags.model.target});
    if (!started.ok()) return Fail(started.status());
    local = std::move(*started);
    address = local->address();
  }
  auto client = tuner::ConnectTuner(address);
  if (!client.ok()) return Fail(client.status());
  if (local != nullptr) {
    Status ready = WaitForLocalWorker(**client, *local);
    if (ready.ok()) ready = CancelLeftovers(**client);
    if (!ready.ok()) return Fail(ready);
  }
  auto target = ChooseTarget(flags, target_given, **client);
  if (!target.ok()) return Fail(target.status());
  auto tasks = driver::ExtractTasks(flags.model.model, *frontend, *target);
  if (!tasks.ok()) return Fail(tasks.status());

  const std::string& path = flags.model.model;
  request.set_model(path.substr(path.rfind('/') + 1).substr(0, 200));
  request.set_threads(flags.model.threads);
  request.set_seed(flags.seed);
  request.set_numerics(std::string(te::Name(flags.model.numerics)));
  *request.mutable_target() = wire::ToProto(*target);
  std::random_device random;
  request.set_request_id(fmt::format("{:08x}{:08x}{:08x}", random(), random(), random()));
  for (const driver::TuningTask& task : *tasks) {
    if (const Status fits = wire::CheckMeasurable(task.program); !fits.ok()) {
      Warn(EscapeControl(task.name) + " is not tuned: " + fits.message());
      continue;
    }
    proto::TaskSpec* spec = request.add_tasks();
    spec->set_name(task.name.substr(0, 200));
    spec->set_weight(task.weight);
    spec->set_warm_constants(task.constants == Constants::kWarm);
    *spec->mutable_workload() = wire::ToProto(task.program);
    for (const std::string& node : task.nodes) spec->add_nodes(node);
  }
  if (request.tasks_size() == 0 && !tasks->empty()) {
    return Fail(
        ResourceExhausted("no kernel of the model can be measured: each is too large; "
                          "`temper compile` chooses schedules without"));
  }
  if (request.seconds() > 0) {
    // What starting took and stopping will take is a part of the user's time.
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    double rest = request.seconds() - spent.count() - (local != nullptr ? kStopSeconds : 0);
    request.set_seconds(std::max(rest, kLeastShare * request.seconds()));
  }
  auto job = (*client)->SubmitJob(request);
  if (!job.ok()) return Fail(job.status());
  const std::string start_worker = WorkerCommand(address, flags.model.threads);
  const std::string fitting_worker =
      target->name +
      (flags.model.threads > 1 ? fmt::format(" with {} threads", flags.model.threads) : "");
  if (job->workers() == 0) {
    Warn("no worker for " + fitting_worker + " is connected; start " + start_worker);
  }
  Display display(flags.json);
  bool deserted = false;
  auto status = Follow(**client, local.get(), job->job(), *worker_seconds, display, &deserted);
  if (local != nullptr) local->Stop();
  if (!status.ok()) return Fail(status.status());
  display.Show(*status, true);
  if (flags.json) Print(StatusJson(*status) + "\n");
  if (!flags.json && !status->warning().empty()) Warn(EscapeControl(status->warning()));
  if (int flushed = Flush(); flushed != kExitOk) return flushed;
  if (status->phase() == proto::JOB_PHASE_FAILED) return Fail(Internal(status->message()));
  if (deserted) {
    return Fail(Unavailable(fmt::format(
        "no worker for {} was connected for {}; what {} trials found is kept. Start {}, "
        "then tune again; --wait-for-worker waits longer",
        fitting_worker, flags.wait_for_worker, status->trials(), start_worker)));
  }
  if (status->phase() == proto::JOB_PHASE_CANCELLED) {
    Warn("stopped; what was measured is kept");
    return kExitFailure;
  }
  if (job->workers() == 0 && status->trials() == 0) {
    return Fail(Unavailable("nothing was measured, since no worker for " + fitting_worker +
                            " was connected; start " + start_worker));
  }
  return kExitOk;
}

}  // namespace

Command AddTuneCommand(CLI::App& root) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* app = root.add_subcommand("tune", "Tune an ONNX model's kernels on measure-workers");
  app->footer(std::string(kExample));
  AddModelOptions(app, &flags->model);
  auto* local = app->add_flag("--local", flags->local,
                              "Start a server and a worker on this machine for this run");
  AddServerOption(app, &flags->server)->capture_default_str()->excludes(local);
  app->add_option("--db", flags->db, "Tuning database of --local")
      ->capture_default_str()
      ->needs(local);
  AddTargetOption(app, &flags->model);
  AddThreadsOption(app, &flags->model);
  AddNumericsOption(app, &flags->model);
  AddConstantsOption(app, &flags->model);
  app->add_option("--trials", flags->trials, "Candidates to measure, for the whole model")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app->add_option("--time", flags->time, "Time to spend, such as 90s, 5m or 1h");
  app->add_option("--wait-for-worker", flags->wait_for_worker,
                  "Give up when no worker was connected for so long, such as 90s or 5m")
      ->capture_default_str();
  app->add_option("--seed", flags->seed, "Seed of the search")
      ->check([](const std::string& text) {
        return ParseUint64(text).status().message();  // CLI11 takes -1 for a large one
      })
      ->capture_default_str();
  app->add_flag("--allow-unsandboxed", flags->allow_unsandboxed,
                "With --local: run candidates outside a sandbox where none can be made")
      ->needs(local);
  app->add_flag("--json", flags->json, "One JSON object on stdout at the end");
  return {app, [flags, app] { return Tune(*flags, app->count("--target") > 0); }};
}

}  // namespace temper::tools
