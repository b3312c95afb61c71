#include "base/ending_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace temper {
namespace {

// In a process of its own: what is blocked stays blocked.
int ExitAfter(int signal_number) {
  const pid_t pid = fork();
  if (pid == 0) {
    auto signals = EndingSignals::Block();
    if (!signals.ok()) _exit(1);
    kill(getpid(), SIGPIPE);
    kill(getpid(), signal_number);
    signals->Wait();
    _exit(7);
  }
  int state = 0;
  waitpid(pid, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

TEST(EndingSignals, WaitsForWhatCameSinceBlock) {
  EXPECT_EQ(ExitAfter(SIGTERM), 7);
  EXPECT_EQ(ExitAfter(SIGINT), 7);
  EXPECT_EQ(ExitAfter(SIGUSR1), -SIGUSR1);
}

}  // namespace
}  // namespace temper
