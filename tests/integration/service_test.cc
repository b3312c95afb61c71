// The real programs: tuner-server, measure-worker, kernel-builder and measure-runner tune a small
// matmul; workers and servers are killed on the way.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "base/subprocess.h"
#include "base/text.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "db/sqlite_store.h"
#include "tests/support/programs.h"
#include "tuner/client/client.h"
#include "tuner/client/local_services.h"

namespace temper {
namespace {

// Generous: other tests may have the processor.
constexpr double kPatience = 120;

std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  pollfd entry{fd, POLLIN, 0};
  while (poll(&entry, 1, 20000) > 0 && read(fd, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

class Programs : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("service_test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(*folder));
    // Locks of its own: another worker of this machine may hold a core.
    ASSERT_EQ(setenv("TEMPER_CORE_LOCKS", (folder_->path() + "/locks").c_str(), 1), 0);
  }
  void TearDown() override {
    workers_.clear();
    server_.reset();
    // Nothing of this test's processes is left: they all carry the folder's name or the server's
    // address in their command lines, or descend from one that does.
    for (int i = 0; i < 300 && !Left().empty(); ++i) usleep(20000);
    EXPECT_EQ(Left(), "");
  }

  // Command lines of the service's programs of this build that run.
  std::string Left() {
    SubprocessOptions ps;
    ps.argv = {"ps", "-eo", "pid,args", "--no-headers"};
    auto run = RunCaptured(ps, "", 20);
    std::string left;
    for (std::string_view line : SplitString(run.ok() ? run->output : "", '\n')) {
      bool ours = false;
      for (const char* program :
           {"tuner-server", "measure-worker", "measure-runner", "kernel-builder"}) {
        ours |= line.find(BIN + std::string(program)) != std::string_view::npos;
      }
      if (ours && line.find("defunct") == std::string_view::npos) left += std::string(line) + "\n";
    }
    return left;
  }

  void StartServer(const std::string& listen = "127.0.0.1:0") {
    SubprocessOptions options;
    options.argv = {BIN "tuner-server", "--listen", listen, "--db", Db()};
    options.stdout_mode = Stdio::kPipe;
    options.die_with_parent = true;
    auto child = Subprocess::Start(options);
    ASSERT_TRUE(child.ok()) << child.status().ToString();
    server_.emplace(std::move(*child));
    address_ = ReadLine(server_->stdout_pipe().get());
    ASSERT_EQ(address_.rfind("127.0.0.1:", 0), 0u) << address_;
  }

  void StartWorker(const std::string& name) {
    SubprocessOptions options;
    options.argv = {BIN "measure-worker", "--server", address_, "--name", name};
    options.die_with_parent = true;
    auto child = Subprocess::Start(options);
    ASSERT_TRUE(child.ok()) << child.status().ToString();
    workers_.push_back(std::move(*child));
  }

  std::unique_ptr<tuner::TunerClient> Connect() {
    auto client = tuner::ConnectTuner(address_);
    EXPECT_TRUE(client.ok()) << client.status().ToString();
    return client.ok() ? std::move(*client) : nullptr;
  }

  template <typename Condition>
  bool Eventually(Condition&& condition) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  bool WaitForWorkers(tuner::TunerClient& client, int count) {
    return Eventually([&] {
      auto devices = client.ListDevices();
      return devices.ok() &&
             std::count_if(devices->devices().begin(), devices->devices().end(),
                           [](const proto::Device& d) { return d.health() == "ready"; }) >= count;
    });
  }

  // A server, workers of these names, and a client once all of them are ready; null on failure.
  std::unique_ptr<tuner::TunerClient> StartService(std::initializer_list<const char*> workers) {
    StartServer();
    for (const char* name : workers) StartWorker(name);
    auto client = HasFailure() ? nullptr : Connect();
    if (client == nullptr) return nullptr;
    const bool ready = WaitForWorkers(*client, static_cast<int>(workers.size()));
    EXPECT_TRUE(ready) << "the workers are not ready";
    return ready ? std::move(client) : nullptr;
  }

  std::string Submit(tuner::TunerClient& client, int64_t trials, const std::string& id) {
    proto::SubmitJobRequest request;
    request.set_model("matmul");
    request.set_threads(1);
    request.set_trials(trials);
    request.set_seed(1);
    request.set_request_id(id);
    auto* task = request.add_tasks();
    task->set_name("matmul 64");
    task->set_weight(1);
    *task->mutable_workload() =
        wire::ToProto(te::Canonicalize(temper::testing::MatmulBiasRelu(64, 64, 64)));
    auto reply = client.SubmitJob(request);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? reply->job() : "";
  }

  proto::JobStatus Watch(tuner::TunerClient& client, const std::string& job) {
    proto::WatchJobRequest request;
    request.set_job(job);
    auto status = client.WatchJob(request);
    return status.ok() ? *status : proto::JobStatus();
  }

  proto::JobStatus WaitForEnd(tuner::TunerClient& client, const std::string& job) {
    proto::JobStatus last;
    EXPECT_TRUE(Eventually([&] {
      last = Watch(client, job);
      return last.phase() >= proto::JOB_PHASE_DONE;
    })) << last.DebugString();
    return last;
  }

  static int64_t Total(const proto::JobStatus& status) {
    int64_t total = 0;
    for (const auto& count : status.outcomes()) total += count.count();
    return total;
  }
  static int64_t CountOf(const proto::JobStatus& status, const std::string& outcome) {
    for (const auto& count : status.outcomes()) {
      if (count.outcome() == outcome) return count.count();
    }
    return 0;
  }

  std::string Db() { return folder_->File("tuning.db"); }

  std::optional<ScopedTempDir> folder_;
  std::optional<Subprocess> server_;
  std::vector<Subprocess> workers_;
  std::string address_;
};

TEST_F(Programs, AJobIsTunedAndASecondRunContinues) {
  auto client = StartService({"one"});
  ASSERT_NE(client, nullptr);
  std::string job = Submit(*client, 40, "first");
  auto status = WaitForEnd(*client, job);
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_DONE) << status.DebugString();
  EXPECT_EQ(status.trials(), 40);
  EXPECT_EQ(Total(status), 40);
  EXPECT_GT(CountOf(status, "ok"), 20) << status.DebugString();
  EXPECT_EQ(CountOf(status, "wrong_result"), 0) << status.DebugString();
  EXPECT_EQ(CountOf(status, "infrastructure"), 0) << status.DebugString();
  EXPECT_GT(status.tasks(0).best_us(), 0);
  double best = status.tasks(0).best_us();

  // The same model again: nothing is measured twice, and the best is not forgotten.
  auto second = WaitForEnd(*client, Submit(*client, 10, "second"));
  EXPECT_EQ(second.trials(), 10);
  EXPECT_LT(second.tasks(0).best_us(), best * 1.5);
  auto records = client->Query({});
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->records_size(), 1);
  EXPECT_EQ(records->records(0).trials(), 50);
  EXPECT_EQ(records->records(0).worker(), "one");

  workers_[0].Signal(SIGTERM);
  auto ended = workers_[0].Wait(30);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->Success()) << ended->ToString();
  server_->Signal(SIGTERM);
  ended = server_->Wait(30);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->Success()) << ended->ToString();
}

TEST_F(Programs, AKilledWorkerCostsOnlyItsLease) {
  auto client = StartService({"victim"});
  ASSERT_NE(client, nullptr);
  std::string job = Submit(*client, 60, "job");
  ASSERT_TRUE(Eventually([&] { return Watch(*client, job).trials() >= 5; }));
  workers_[0].Kill();
  ASSERT_TRUE(workers_[0].Wait(10).ok());
  workers_.clear();
  auto when_killed = Watch(*client, job);
  EXPECT_LT(when_killed.trials(), 60);
  StartWorker("heir");
  auto status = WaitForEnd(*client, job);
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_DONE);
  EXPECT_EQ(status.trials(), 60);
  EXPECT_EQ(Total(status), 60);
  EXPECT_EQ(CountOf(status, "infrastructure"), 0);
  auto records = client->Query({});
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->records_size(), 1);
  EXPECT_EQ(records->records(0).trials(), 60);
}

TEST_F(Programs, AKilledServerLosesNothingThatItAcknowledged) {
  auto client = StartService({"steady"});
  ASSERT_NE(client, nullptr);
  std::string address = address_;
  std::string job = Submit(*client, 60, "job");
  ASSERT_TRUE(Eventually([&] { return Watch(*client, job).trials() >= 10; }));
  int64_t acknowledged = Watch(*client, job).trials();
  server_->Kill();
  ASSERT_TRUE(server_->Wait(10).ok());
  StartServer(address);
  auto again = Connect();
  ASSERT_NE(again, nullptr);
  auto records = again->Query({});
  ASSERT_TRUE(records.ok()) << records.status().ToString();
  ASSERT_EQ(records->records_size(), 1);
  EXPECT_GE(records->records(0).trials(), acknowledged);
  auto status = WaitForEnd(*again, job);
  EXPECT_EQ(status.phase(), proto::JOB_PHASE_DONE);
}

TEST_F(Programs, AStoppedServerIsWaitedForByItsWorkerAndByTune) {
  auto client = StartService({"steady"});
  ASSERT_NE(client, nullptr);
  std::string address = address_;
  SubprocessOptions options;
  options.argv = {BIN "temper", "tune",      TEMPER_SOURCE "/tests/data/small.onnx",
                  "--shape",    "x=1x3x8x8", "--server",
                  address,      "--trials",  "300"};
  options.stderr_mode = Stdio::kNull;
  auto tune = Subprocess::Start(options);
  ASSERT_TRUE(tune.ok());
  proto::JobStatus job;
  ASSERT_TRUE(Eventually([&] {
    auto jobs = client->ListJobs();
    if (jobs.ok() && jobs->jobs_size() > 0) job = jobs->jobs(0);
    return job.trials() >= 5;
  }));
  // Twice: which call meets the end differs.
  for (int i = 0; i < 2; ++i) {
    server_->Signal(SIGTERM);
    auto ended = server_->Wait(30);
    ASSERT_TRUE(ended.ok());
    EXPECT_TRUE(ended->Success()) << ended->ToString();
    std::this_thread::sleep_for(std::chrono::milliseconds(700));  // both meet that nobody answers
    StartServer(address);
    auto again = Connect();
    ASSERT_NE(again, nullptr);
    ASSERT_TRUE(WaitForWorkers(*again, 1));
    EXPECT_FALSE(workers_[0].Poll().has_value());
  }
  auto finished = tune->Wait(kPatience);
  ASSERT_TRUE(finished.ok());
  EXPECT_TRUE(finished->Success()) << finished->ToString();
}

TEST_F(Programs, SeveralWorkersShareTheWork) {
  if (std::thread::hardware_concurrency() < 2) return;  // a core for each is all they need
  auto client = StartService({"one", "two"});
  ASSERT_NE(client, nullptr);
  auto status = WaitForEnd(*client, Submit(*client, 100, "job"));
  EXPECT_EQ(status.trials(), 100);
  auto devices = client->ListDevices();
  ASSERT_TRUE(devices.ok());
  for (const auto& device : devices->devices()) EXPECT_GT(device.done(), 5) << device.name();
  // Every core is locked now.
  SubprocessOptions third;
  third.argv = {BIN "measure-worker", "--server", address_, "--threads",
                std::to_string(std::thread::hardware_concurrency())};
  auto refused = RunCaptured(third, "", 30);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status.code, 1);
  EXPECT_NE(refused->errors.find("cores"), std::string::npos) << refused->errors;
}

std::set<std::string> BuildFolders() {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    std::string name = entry.path().filename();
    if (name.starts_with("build")) folders.insert(name);
  }
  return folders;
}

TEST_F(Programs, AWorkerOutsideASandboxLeavesNoFolder) {
  const std::set<std::string> before = BuildFolders();
  StartServer();
  SubprocessOptions options;
  options.argv = {BIN "measure-worker", "--server", address_, "--allow-unsandboxed"};
  // No bubblewrap is found.
  options.environment =
      std::vector<std::string>{"PATH=/nowhere", "TEMPER_CORE_LOCKS=" + folder_->path() + "/locks"};
  options.die_with_parent = true;
  auto worker = Subprocess::Start(options);
  ASSERT_TRUE(worker.ok());
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(WaitForWorkers(*client, 1));
  auto devices = client->ListDevices();
  ASSERT_TRUE(devices.ok());
  EXPECT_TRUE(devices->devices(0).unsandboxed());
  auto status = WaitForEnd(*client, Submit(*client, 10, "job"));
  EXPECT_EQ(status.trials(), 10);
  worker->Signal(SIGTERM);
  auto ended = worker->Wait(30);
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->Success()) << ended->ToString();
  EXPECT_EQ(BuildFolders(), before);
}

TEST_F(Programs, LocalServicesStartServeAndStop) {
  tuner::LocalOptions options;
  options.program_folder = std::string(BIN).substr(0, std::string(BIN).size() - 1);
  options.db = Db();
  auto local = tuner::LocalServices::Start(options);
  ASSERT_TRUE(local.ok()) << local.status().ToString();
  address_ = (*local)->address();
  auto client = Connect();
  ASSERT_NE(client, nullptr);
  EXPECT_TRUE(WaitForWorkers(*client, 1));
  EXPECT_TRUE((*local)->Check().ok());
  (*local)->Stop();
  local->reset();
}

TEST_F(Programs, TuneRunsWithoutATerminalAndContinues) {
  auto tune = [&](const std::string& trials) {
    SubprocessOptions options;
    options.argv = {BIN "temper", "tune",      TEMPER_SOURCE "/tests/data/small.onnx",
                    "--shape",    "x=1x3x8x8", "--local",
                    "--db",       Db(),        "--trials",
                    trials,       "--json"};
    auto run = RunCaptured(options, "", kPatience);
    EXPECT_TRUE(run.ok());
    EXPECT_TRUE(run.ok() && run->status.Success()) << run->errors;
    return run.ok() ? run->output : "";
  };
  std::string first = tune("30");
  EXPECT_NE(first.find("\"trials\":30"), std::string::npos) << first;
  EXPECT_NE(first.find("\"best_us\":"), std::string::npos) << first;
  std::string second = tune("10");
  EXPECT_NE(second.find("\"trials\":10"), std::string::npos) << second;
}

TEST_F(Programs, TuneSaysWhenNoServerIsThere) {
  SubprocessOptions options;
  options.argv = {BIN "temper", "tune",      TEMPER_SOURCE "/tests/data/small.onnx",
                  "--shape",    "x=1x3x8x8", "--server",
                  "127.0.0.1:1"};
  auto run = RunCaptured(options, "", 60);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->status.code, 1);
  EXPECT_NE(run->errors.find("127.0.0.1:1"), std::string::npos) << run->errors;
}

TEST_F(Programs, TuneNamesTheThreadsOfTheWorkerThatIsMissing) {
  auto client = StartService({"one thread"});
  ASSERT_NE(client, nullptr);
  SubprocessOptions options;
  options.argv = {BIN "temper",
                  "tune",
                  TEMPER_SOURCE "/tests/data/small.onnx",
                  "--shape",
                  "x=1x3x8x8",
                  "--server",
                  address_,
                  "--threads",
                  "2",
                  "--wait-for-worker",
                  "1s"};
  auto run = RunCaptured(options, "", 60);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->status.code, 1);
  const std::string start = "measure-worker --server " + address_ + " --threads 2";
  const size_t warned = run->errors.find(start);  // at the start, and at the end
  ASSERT_NE(warned, std::string::npos) << run->errors;
  EXPECT_NE(run->errors.find(start, warned + 1), std::string::npos) << run->errors;
}

TEST_F(Programs, JobsAreListedAndCancelled) {
  auto client = StartService({"one"});
  ASSERT_NE(client, nullptr);
  auto jobs = [&](std::vector<std::string> more) {
    SubprocessOptions options;
    options.argv = {BIN "temper", "jobs", "--server", address_};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    auto run = RunCaptured(options, "", 60);
    EXPECT_TRUE(run.ok());
    return run.ok() ? *std::move(run) : CapturedRun();
  };
  EXPECT_NE(jobs({}).output.find("no jobs"), std::string::npos);
  const std::string job = Submit(*client, 1'000'000, "to be cancelled");
  auto listed = jobs({"--json"});
  EXPECT_EQ(listed.status.code, 0) << listed.errors;
  EXPECT_NE(listed.output.find("\"job\":\"" + job + "\""), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("\"model\":\"matmul\""), std::string::npos) << listed.output;
  EXPECT_NE(jobs({}).output.find(job), std::string::npos);

  EXPECT_EQ(jobs({"--cancel", "no such job"}).status.code, 1);
  EXPECT_EQ(jobs({"--cancel", ""}).status.code, 2);
  EXPECT_LT(Watch(*client, job).phase(), proto::JOB_PHASE_DONE);
  auto cancelled = jobs({"--cancel", job.substr(0, 5)});
  EXPECT_EQ(cancelled.status.code, 0) << cancelled.errors;
  EXPECT_NE(cancelled.output.find("cancelled"), std::string::npos) << cancelled.output;
  EXPECT_EQ(WaitForEnd(*client, job).phase(), proto::JOB_PHASE_CANCELLED);
  auto again = jobs({"--cancel", job});
  EXPECT_EQ(again.status.code, 1);
  EXPECT_NE(again.errors.find("has ended already: cancelled"), std::string::npos) << again.errors;
}

TEST_F(Programs, WhatATuneLearnedServesCompileQueryAndInspect) {
  auto client = StartService({"one"});
  ASSERT_NE(client, nullptr);
  const std::string model = TEMPER_SOURCE "/tests/data/small.onnx";
  auto temper = [&](std::vector<std::string> argv) {
    SubprocessOptions options;
    options.argv = {BIN "temper"};
    options.argv.insert(options.argv.end(), argv.begin(), argv.end());
    auto run = RunCaptured(options, "", 200);
    EXPECT_TRUE(run.ok());
    EXPECT_EQ(run->status.code, 0) << run->errors;
    return run.ok() ? run->output : std::string();
  };
  auto count = [](const std::string& text, const std::string& part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  // Both sets of shapes are tuned, in one job.
  const std::vector<std::string> one = {"--shape", "x=1x3x8x8"}, two = {"--shape", "x=2x3x8x8"};
  std::vector<std::string> tune = {"tune",     model, "--server", address_,
                                   "--trials", "150", "--json"};
  tune.insert(tune.end(), one.begin(), one.end());
  tune.insert(tune.end(), two.begin(), two.end());
  temper(tune);
  const std::string so = folder_->File("small.so");
  for (const auto& shapes : {one, two}) {
    const std::string tuned = temper({"compile", model, "-o", so, "--server", address_,
                                      "--require-tuned", "--json", shapes[0], shapes[1]});
    EXPECT_EQ(count(tuned, "\"source\":\"exact\""), count(tuned, "\"source\":")) << tuned;
    const std::string known =
        temper({"query", "--server", address_, "--model", model, "--json", shapes[0], shapes[1]});
    EXPECT_GE(count(known, "\"best_us\""), 1) << known;
  }
  // What was not tuned is chosen by the model that the job left at the server.
  const std::string other =
      temper({"compile", model, "-o", so, "--server", address_, "--json", "--shape", "x=4x3x8x8"});
  EXPECT_GE(count(other, "\"source\":\"model\""), 1) << other;
  EXPECT_EQ(count(other, "\"source\":\"prior\""), 0) << other;
  const std::string shown = temper({"inspect", so, "--schedules"});
  EXPECT_NE(shown.find("model"), std::string::npos) << shown;
  EXPECT_NE(shown.find("temper-schedule"), std::string::npos) << shown;
}

TEST_F(Programs, WrongUseIsToldClearly) {
  auto run = [&](std::vector<std::string> argv) {
    SubprocessOptions options;
    options.argv = std::move(argv);
    auto result = RunCaptured(options, "", 30);
    EXPECT_TRUE(result.ok());
    return result.ok() ? *result : CapturedRun{};
  };
  StartServer();
  auto taken = run({BIN "tuner-server", "--listen", address_, "--db", folder_->File("other.db")});
  EXPECT_EQ(taken.status.code, 1);
  EXPECT_NE(taken.errors.find(address_), std::string::npos) << taken.errors;
  EXPECT_NE(taken.errors.find("in use"), std::string::npos) << taken.errors;
  EXPECT_FALSE(FileExists(folder_->File("other.db"))) << "nothing is made in vain";
  EXPECT_FALSE(FileExists(folder_->File("other.db-lock")));
  auto open = run({BIN "tuner-server", "--listen", "0.0.0.0:0", "--db", folder_->File("o.db")});
  EXPECT_EQ(open.status.code, 1);
  EXPECT_NE(open.errors.find("TLS"), std::string::npos) << open.errors;
  auto second = run({BIN "tuner-server", "--listen", "127.0.0.1:0", "--db", Db()});
  EXPECT_EQ(second.status.code, 1) << "two servers must not share a database";
  EXPECT_EQ(run({BIN "tuner-server", "--listen"}).status.code, 2);
  EXPECT_EQ(run({BIN "measure-worker", "--threads", "0"}).status.code, 2);
  EXPECT_EQ(run({BIN "measure-worker", "--help"}).status.code, 0);
  EXPECT_EQ(run({BIN "tuner-server", "--help"}).status.code, 0);
  ASSERT_TRUE(WriteFileAtomic(folder_->File("text.db"), std::string(5000, 'x')).ok());
  auto text =
      run({BIN "tuner-server", "--listen", "127.0.0.1:0", "--db", folder_->File("text.db")});
  EXPECT_EQ(text.status.code, 1);
  EXPECT_NE(text.errors.find("text.db"), std::string::npos) << text.errors;
  auto nobody = tuner::ConnectTuner("127.0.0.1:1", 0.3);
  EXPECT_EQ(nobody.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace temper
