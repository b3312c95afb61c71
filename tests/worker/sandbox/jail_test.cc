#include "worker/sandbox/jail.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

namespace temper::sandbox {
namespace {

JailOptions Hostile(std::vector<std::string> arguments) {
  JailOptions options;
  options.program = HOSTILE_PROGRAM;
  options.arguments = std::move(arguments);
  return options;
}

ExitStatus RunToEnd(const JailOptions& options) {
  auto child = StartJailed(options);
  EXPECT_TRUE(child.ok()) << child.status().ToString();
  if (!child.ok()) return {};
  auto status = child->Wait(60);
  EXPECT_TRUE(status.ok()) << status.status().ToString();
  return status.ok() ? *status : ExitStatus{};
}

// Processes whose command line names the hostile program: none may be left over.
int HostileProcesses(const std::string& marker) {
  SubprocessOptions options;
  options.argv = {"sh", "-c",
                  "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f 2>/dev/null; echo; done"};
  auto run = RunCaptured(options, "", 30);
  EXPECT_TRUE(run.ok());
  int count = 0;
  size_t at = 0;
  while (run.ok() &&
         (at = run->output.find("hostile_program " + marker, at)) != std::string::npos) {
    ++count;
    ++at;
  }
  return count;
}

TEST(Jail, AWellBehavedProgramRunsWithThreadsAndAPrivateFolder) {
  EXPECT_TRUE(RunToEnd(Hostile({"good"})).Success());
  EXPECT_TRUE(ProbeJail(HOSTILE_PROGRAM, {"good"}).ok());
}

TEST(Jail, ProbeSaysThatAProgramFailed) {
  Status status = ProbeJail(HOSTILE_PROGRAM, {"usage"});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("exit status 4"), std::string::npos) << status.message();
  EXPECT_EQ(ProbeJail("/nonexistent/program", {}).code(), Code::kNotFound);
}

TEST(Jail, AForkBombIsKilledAtItsFirstFork) {
  EXPECT_EQ(SignalOf(RunToEnd(Hostile({"fork"}))), SIGSYS);
  EXPECT_EQ(HostileProcesses("fork"), 0);
}

TEST(Jail, ThereIsNoNetwork) { EXPECT_EQ(SignalOf(RunToEnd(Hostile({"connect"}))), SIGSYS); }

TEST(Jail, TracingIsKilled) { EXPECT_EQ(SignalOf(RunToEnd(Hostile({"trace"}))), SIGSYS); }

TEST(Jail, TheSystemIsReadOnly) { EXPECT_EQ(RunToEnd(Hostile({"write"})).code, 3); }

TEST(Jail, OtherFilesCannotBeSeen) {
  auto folder = ScopedTempDir::Create("secret");
  ASSERT_TRUE(folder.ok());
  std::string path = folder->File("key");
  ASSERT_TRUE(WriteFileAtomic(path, "secret").ok());
  EXPECT_EQ(RunToEnd(Hostile({"read", path})).code, 3);
  EXPECT_EQ(RunToEnd(Hostile({"read", "/etc/passwd"})).code, 3);
  JailOptions open = Hostile({"read", path});
  open.sandboxed = false;
  EXPECT_EQ(RunToEnd(open).code, 0) << "the test itself must be able to tell";
}

TEST(Jail, OtherProcessesCannotBeSignalled) {
  EXPECT_EQ(RunToEnd(Hostile({"signal", std::to_string(getpid())})).code, 3);
}

TEST(Jail, MemoryIsBounded) {
  JailOptions options = Hostile({"allocate"});
  options.limits.address_space_bytes = uint64_t{1} << 30;
  EXPECT_EQ(RunToEnd(options).code, 3);
}

TEST(Jail, TheTemporaryFolderIsBounded) {
  JailOptions options = Hostile({"fill"});
  options.limits.temporary_bytes = 16 << 20;
  ExitStatus status = RunToEnd(options);
  EXPECT_TRUE(status.code == 3 || SignalOf(status) == SIGXFSZ) << status.ToString();
}

TEST(Jail, CrashesShowTheirSignal) {
  EXPECT_EQ(SignalOf(RunToEnd(Hostile({"segv"}))), SIGSEGV);
  int trap = SignalOf(RunToEnd(Hostile({"ill"})));
  EXPECT_TRUE(trap == SIGILL || trap == SIGTRAP) << trap;
}

TEST(Jail, AnEndlessLoopThatIgnoresSignalsIsKilled) {
  auto child = StartJailed(Hostile({"loop", "killed"}));
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  EXPECT_EQ(child->Wait(0.3).status().code(), Code::kDeadlineExceeded);
  child->Kill();
  auto status = child->Wait(10);
  ASSERT_TRUE(status.ok()) << status.status().ToString();
  EXPECT_EQ(status->signal, SIGKILL);
  for (int i = 0; i < 500 && HostileProcesses("loop killed") > 0; ++i) usleep(10000);
  EXPECT_EQ(HostileProcesses("loop killed"), 0);
}

TEST(Jail, ProcessorTimeIsBounded) {
  JailOptions options = Hostile({"loop", "limited"});
  options.limits.cpu_seconds = 1;
  int signal = SignalOf(RunToEnd(options));
  EXPECT_TRUE(signal == SIGKILL || signal == SIGXCPU) << signal;
}

TEST(Jail, EverythingDiesWithTheThreadThatStartedIt) {
  std::thread([] {
    auto child = StartJailed(Hostile({"loop", "orphan"}));
    ASSERT_TRUE(child.ok());
    EXPECT_EQ(child->Wait(0.3).status().code(), Code::kDeadlineExceeded);
    EXPECT_GT(HostileProcesses("loop orphan"), 0);
    // Leaks the handle on purpose: nothing but the end of the thread may end the child.
    new Subprocess(std::move(*child));
  }).join();
  for (int i = 0; i < 500 && HostileProcesses("loop orphan") > 0; ++i) usleep(10000);
  EXPECT_EQ(HostileProcesses("loop orphan"), 0);
}

}  // namespace
}  // namespace temper::sandbox
