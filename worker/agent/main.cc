// measure-worker: measures candidates for a tuner-server.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "base/core_lock.h"
#include "base/host_port.h"
#include "base/text.h"
#include "compiler/target/native_target.h"
#include "worker/agent/session.h"

namespace {

std::atomic<bool> drain = false;
std::atomic<int> signals = 0;

extern "C" void OnSignal(int) {
  drain = true;
  if (++signals > 1) _exit(130);
}

struct Flags {
  std::string server = "127.0.0.1:7400";
  std::string name;
  std::vector<int> cores;
  int threads = 1;
  std::string target = "native";
  bool allow_unsandboxed = false;
  bool verbose = false;
};

int Fail(const temper::Status& status) {
  std::fprintf(stderr, "measure-worker: %s\n", status.message().c_str());
  return 1;
}

std::string OwnFolder() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  std::string text(path, n > 0 ? static_cast<size_t>(n) : 0);
  return text.substr(0, text.rfind('/'));
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "worker";
}

// What kernel-builder and measure-runner say of this machine, which is to stand for `target`, of
// these rates.
temper::Status Describe(const std::string& target, const temper::Rates& rates,
                        temper::agent::PipelineOptions& options,
                        temper::proto::RegisterRequest& registration) {
  using namespace temper;
  sandbox::JailOptions jail;
  jail.sandboxed = options.sandboxed;
  std::vector<std::string> unfiltered;
  if (!options.sandboxed) unfiltered.push_back("--unfiltered");
  jail.program = options.builder_program;
  jail.arguments = unfiltered;
  agent::Servant builder(jail);
  proto::BuildRequest question;
  question.mutable_target()->set_name(target);
  agent::Answer answer = builder.Call(question.SerializeAsString(), {}, 30);
  proto::BuildReply built;
  if (answer.outcome != Outcome::kOk || !built.ParseFromString(answer.frame.bytes)) {
    return FailedPrecondition("kernel-builder does not work here: " + answer.message);
  }
  if (built.outcome() != proto::OUTCOME_OK) return FailedPrecondition(built.message());
  options.target = built.detected();
  if (rates.Known()) options.target.set_rates(RatesText(rates));
  *registration.mutable_target() = options.target;
  registration.set_compiler_version(built.compiler_version());

  jail.program = options.runner_program;
  jail.arguments.push_back("--cores=" + std::to_string(options.cores[0]));
  agent::Servant runner(jail);
  answer = runner.Call(proto::RunnerRequest().SerializeAsString(), {}, 30);
  proto::RunnerReply ran;
  if (answer.outcome != Outcome::kOk || !ran.ParseFromString(answer.frame.bytes)) {
    return FailedPrecondition("measure-runner does not work here: " + answer.message);
  }
  registration.set_control_gflops(ran.control_gflops());
  return OkStatus();
}

int Run(const Flags& flags) {
  using namespace temper;
  SystemClock clock;
  // While this process may use every core.
  const bool native = flags.target == "native";
  Logger log = Logger::Stderr("measure-worker", flags.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  const Rates rates = native ? NativeTarget(RatesFolder(), clock, log).rates : Rates();
  agent::PipelineOptions options;
  options.builder_program = OwnFolder() + "/kernel-builder";
  options.runner_program = OwnFolder() + "/measure-runner";
  options.threads = flags.threads;
  auto folder = CoreLockFolder();
  if (!folder.ok()) return Fail(folder.status());
  options.lock_folder = *folder;

  std::vector<int> allowed = AllowedCores();
  const std::set<int> distinct(flags.cores.begin(), flags.cores.end());
  if (!distinct.empty() && static_cast<int>(distinct.size()) < flags.threads) {
    Fail(InvalidArgument("kernels on " + std::to_string(flags.threads) +
                         " threads need as many --cores"));
    return 2;
  }
  auto locks = flags.cores.empty() ? CoreLocks::TakeFree(*folder, flags.threads)
                                   : CoreLocks::Take(*folder, flags.cores);
  if (!locks.ok()) return Fail(locks.status());
  options.cores = locks->cores();
  // This process's own work keeps off the cores that are timed on. The programs it starts choose
  // their own.
  std::vector<int> others;
  for (int core : allowed) {
    if (std::find(options.cores.begin(), options.cores.end(), core) == options.cores.end()) {
      others.push_back(core);
    }
  }
  if (!others.empty()) {
    Status pinned = PinToCores(others);
    if (!pinned.ok()) log.Warning("{}", pinned.message());
  }
  for (const std::string& program : {options.builder_program, options.runner_program}) {
    Status probe = sandbox::ProbeJail(program, {"--probe"});
    if (probe.ok()) continue;
    if (probe.code() == Code::kNotFound) return Fail(probe);
    if (!flags.allow_unsandboxed) {
      std::fprintf(stderr,
                   "measure-worker: %s\nCandidates are built and run in a sandbox only. Install "
                   "bubblewrap and allow user namespaces, or accept the risk with "
                   "--allow-unsandboxed; every record then says so.\n",
                   probe.message().c_str());
      return 1;
    }
    options.sandboxed = false;
  }
  if (!options.sandboxed) log.Warning("candidates are built and run outside a sandbox");

  agent::SessionOptions session_options;
  proto::RegisterRequest& registration = session_options.registration;
  Status described = Describe(flags.target, rates, options, registration);
  if (!described.ok()) return Fail(described);
  registration.set_protocol(1);
  registration.set_name(flags.name.empty() ? HostName() : flags.name);
  registration.mutable_cores()->Assign(options.cores.begin(), options.cores.end());
  registration.set_threads(flags.threads);
  registration.set_unsandboxed(!options.sandboxed);

  struct sigaction action{};
  action.sa_handler = OnSignal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  auto client = agent::MakeGrpcClient(flags.server);
  agent::Pipeline pipeline(options, log);
  std::vector<std::string> names;
  for (int core : options.cores) names.push_back(std::to_string(core));
  log.Info("timing on core {}, {:.0f} GFLOP/s; server {}", JoinStrings(names, ","),
           registration.control_gflops(), flags.server);
  agent::Session session(session_options, client.get(), &pipeline, &clock, log,
                         std::random_device()());
  Status status = session.Run(drain);
  pipeline.Stop();
  if (!status.ok()) return Fail(status.WithContext("the server refuses this worker"));
  log.Info("stopped after {}", pipeline.Summary());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // its errors come back as statuses
  Flags flags;
  CLI::App app{
      "Measures candidate kernels for a tuner-server.\n"
      "Example: measure-worker --server 127.0.0.1:7400 --cores 1"};
  app.name("measure-worker");
  app.add_option("--server", flags.server, "HOST:PORT of the tuner-server")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return temper::ParseHostPort(text).status().message();  // "": well-formed
      });
  app.add_option("--name", flags.name, "name in reports; default: the host's name");
  app.add_option("--cores", flags.cores, "cores to time on, such as 0,1; default: free ones")
      ->delimiter(',')
      ->check(CLI::Range(0, 65535));
  app.add_option(
         "--target", flags.target,
         "target to measure for, such as x86-64-v3; this machine must be able to run its code")
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "threads of the kernels it times")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_flag("--allow-unsandboxed", flags.allow_unsandboxed,
               "run candidates outside a sandbox where none can be made");
  app.add_flag("--verbose", flags.verbose, "log more");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return Run(flags);
}
