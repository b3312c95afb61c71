#include "base/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/text.h"

namespace temper {
namespace {

SubprocessOptions Shell(std::string script) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", std::move(script)};
  return options;
}

CapturedRun Capture(SubprocessOptions options, std::string_view input = "", double timeout = 30,
                    size_t max_bytes = 1 << 20) {
  auto run = RunCaptured(std::move(options), input, timeout, max_bytes);
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  return run.ok() ? *run : CapturedRun{};
}

// Waits until the process is gone; a zombie of another parent counts as gone.
bool EventuallyGone(pid_t pid) {
  for (int i = 0; i < 5000; ++i) {
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    auto stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    if (!stat.ok() || stat->find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

TEST(Subprocess, CapturesBothOutputsAndTheStatus) {
  CapturedRun run = Capture(Shell("cat; echo problem >&2; exit 3"), "input");
  EXPECT_EQ(run.output, "input");
  EXPECT_EQ(run.errors, "problem\n");
  EXPECT_EQ(run.status.code, 3);
  EXPECT_FALSE(run.status.Success());
  EXPECT_EQ(run.status.ToString(), "exit status 3");
}

TEST(Subprocess, LargeInputAndOutputDoNotBlock) {
  std::string input(3'000'000, 'x');
  CapturedRun run = Capture(Shell("cat"), input, 60, 10'000'000);
  EXPECT_TRUE(run.output == input);
  EXPECT_FALSE(run.truncated);
}

TEST(Subprocess, OutputIsCapped) {
  CapturedRun run = Capture(Shell("head -c 100000 /dev/zero; echo end >&2"), "", 30, 1000);
  EXPECT_EQ(run.output.size(), 1000u);
  EXPECT_EQ(run.errors, "end\n");
  EXPECT_TRUE(run.truncated);
  EXPECT_TRUE(run.status.Success());
}

TEST(Subprocess, AChildThatDoesNotReadIsNoTrouble) {
  CapturedRun run = Capture(Shell("exec <&-; echo done"), std::string(1'000'000, 'x'));
  EXPECT_EQ(run.output, "done\n");
  EXPECT_TRUE(run.status.Success());
}

TEST(Subprocess, TimeoutKillsTheWholeGroup) {
  CapturedRun run = Capture(Shell("sleep 1000 & echo $!; wait"), "", 0.3);
  EXPECT_TRUE(run.timed_out);
  EXPECT_EQ(run.status.signal, SIGKILL);
  EXPECT_EQ(run.status.ToString(), "signal 9 (Killed)");
  auto grandchild = ParseInt64(StripWhitespace(run.output));
  ASSERT_TRUE(grandchild.ok());
  EXPECT_TRUE(EventuallyGone(static_cast<pid_t>(*grandchild)));
}

TEST(Subprocess, MissingProgramIsAnError) {
  SubprocessOptions options;
  options.argv = {"no-such-program-of-temper"};
  EXPECT_EQ(Subprocess::Start(options).status().code(), Code::kNotFound);
  options.argv = {"/no/such/program"};
  Status status = Subprocess::Start(options).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "cannot start /no/such/program: No such file or directory");
  options.argv = {"/dev/null"};
  EXPECT_EQ(Subprocess::Start(options).status().code(), Code::kPermissionDenied);
  options.argv = {"sh"};
  options.working_folder = "/no/such/folder";
  EXPECT_FALSE(Subprocess::Start(options).ok());
  EXPECT_FALSE(Subprocess::Start({}).ok());
}

TEST(Subprocess, WaitTimesOutAndThenSucceeds) {
  SubprocessOptions options = Shell("read x; exit 7");
  options.stdin_mode = Stdio::kPipe;
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->Wait(0.02).status().code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(child->Poll());
  ASSERT_TRUE(WriteAll(child->stdin_pipe().get(), "go\n").ok());
  auto status = child->Wait(30);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->code, 7);
  EXPECT_EQ(child->Wait(0)->code, 7) << "the status is kept";
  child->Kill();  // no effect: it was waited for
}

TEST(Subprocess, DestructionLeavesNoProcess) {
  pid_t pid;
  {
    auto child = Subprocess::Start(Shell("sleep 1000"));
    ASSERT_TRUE(child.ok());
    pid = child->pid();
    EXPECT_EQ(kill(pid, 0), 0);
    Subprocess moved = std::move(*child);
    EXPECT_EQ(moved.pid(), pid);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Subprocess, SignalsReachIt) {
  auto child = Subprocess::Start(Shell("sleep 1000"));
  ASSERT_TRUE(child.ok());
  child->Signal(SIGTERM);
  EXPECT_EQ(child->Wait(30)->signal, SIGTERM);
}

TEST(Subprocess, MapsDescriptorsEvenWhenTheySwap) {
  Pipe a = *MakePipe();
  Pipe b = *MakePipe();
  SubprocessOptions options = Shell("echo to_a >&" + std::to_string(b.write.get()) +
                                    "; echo to_b >&" + std::to_string(a.write.get()));
  options.fds = {{a.write.get(), b.write.get()}, {b.write.get(), a.write.get()}};
  auto child = Subprocess::Start(options);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child->Wait(30)->Success());
  char buffer[16];
  ASSERT_EQ(read(a.read.get(), buffer, sizeof(buffer)), 5);
  EXPECT_EQ(std::string_view(buffer, 5), "to_a\n");
  ASSERT_EQ(read(b.read.get(), buffer, sizeof(buffer)), 5);
  EXPECT_EQ(std::string_view(buffer, 5), "to_b\n");
  options.fds = {{a.write.get(), 1}};
  EXPECT_EQ(Subprocess::Start(options).status().code(), Code::kInvalidArgument);
}

TEST(Subprocess, InheritsNothingUnnamed) {
  int leaky = fcntl(1, F_DUPFD, 50);  // without close-on-exec; beyond what ls opens
  ScopedFd owner(leaky);
  CapturedRun run =
      Capture(Shell("ls -l /proc/self/fd | grep -c ' " + std::to_string(leaky) + " -> '"));
  EXPECT_EQ(run.output, "0\n");
}

TEST(Subprocess, EnvironmentAndFolder) {
  SubprocessOptions options = Shell("echo $COLOR$HOME; pwd");
  options.environment = {"COLOR=red"};
  options.working_folder = "/";
  EXPECT_EQ(Capture(options).output, "red\n/\n");
}

TEST(Subprocess, DiesWithTheThreadThatStartedIt) {
  pid_t pid = 0;
  std::optional<Subprocess> child;
  std::thread starter([&] {
    SubprocessOptions options = Shell("exec sleep 1000");
    options.die_with_parent = true;
    auto started = Subprocess::Start(options);
    if (!started.ok()) return;
    child.emplace(std::move(*started));
    pid = child->pid();
  });
  starter.join();
  ASSERT_GT(pid, 0);
  auto status = child->Wait(30);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->signal, SIGKILL);
}

}  // namespace
}  // namespace temper
