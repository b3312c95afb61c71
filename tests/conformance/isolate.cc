#include "tests/conformance/isolate.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/file.h"

namespace temper::conformance {
namespace {

// One running child. It writes the verdict as a digit, then the message, and closes.
struct Child {
  int index = 0;
  pid_t pid = -1;
  ScopedFd read;
  double started = 0;
  std::string text;
  bool killed = false;
};

[[noreturn]] void RunChild(int fd, const Outcome& outcome) {
  std::string text(1, static_cast<char>('0' + static_cast<int>(outcome.verdict)));
  const Status written = WriteAll(fd, text + outcome.message);
  _exit(written.ok() ? 0 : 1);
}

Outcome Finish(const Child& child) {
  int state = 0;
  while (waitpid(child.pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (child.killed) return {Verdict::kFault, "it does not end"};
  if (WIFSIGNALED(state)) {
    return {Verdict::kFault, fmt::format("it dies of {}", strsignal(WTERMSIG(state)))};
  }
  if (child.text.empty()) {
    return {Verdict::kFault, fmt::format("it exits with {}", WEXITSTATUS(state))};
  }
  return {static_cast<Verdict>(child.text[0] - '0'), child.text.substr(1)};
}

// Reads what is there; false at the end.
bool ReadSome(Child& child) {
  char buffer[4096];
  const ssize_t n = read(child.read.get(), buffer, sizeof(buffer));
  if (n > 0) child.text.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

Result<std::vector<Outcome>> RunIsolated(
    int count, int jobs, double limit_seconds,
    const std::function<Outcome(int i, const std::string& folder)>& run) {
  TEMPER_ASSIGN_OR_RETURN(const auto temp, ScopedTempDir::Create("temper-conformance-"));
  const SystemClock clock;
  std::vector<Outcome> outcomes(static_cast<size_t>(count));
  std::vector<Child> children;
  int next = 0;
  while (next < count || !children.empty()) {
    while (next < count && static_cast<int>(children.size()) < jobs) {
      TEMPER_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
      const std::string folder = temp.File(std::to_string(next));
      std::filesystem::create_directory(folder);
      const pid_t pid = fork();
      if (pid < 0) return ErrnoStatus(errno, "cannot fork");
      if (pid == 0) RunChild(pipe.write.get(), run(next, folder));
      Child child;
      child.index = next++;
      child.pid = pid;
      child.read = std::move(pipe.read);
      child.started = clock.NowSeconds();
      children.push_back(std::move(child));
    }
    std::vector<pollfd> polled;
    for (const Child& child : children) polled.push_back({child.read.get(), POLLIN, 0});
    poll(polled.data(), polled.size(), 200);
    for (size_t i = children.size(); i-- > 0;) {
      Child& child = children[i];
      if (!child.killed && clock.NowSeconds() - child.started > limit_seconds) {
        child.killed = true;
        kill(child.pid, SIGKILL);
      }
      if (polled[i].revents == 0 || ReadSome(child)) continue;
      outcomes[static_cast<size_t>(child.index)] = Finish(child);
      std::error_code ignored;
      std::filesystem::remove_all(temp.File(std::to_string(child.index)), ignored);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return outcomes;
}

}  // namespace temper::conformance
