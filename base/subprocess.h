// Child processes: what they inherit, how long they may run, and that none is left over.
//
// The child gets exactly the descriptors that are named, default signal handling and an empty
// signal mask. Starting one is safe in a process with many threads (vfork, and nothing but system
// calls before exec); no shell is involved.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace temper {

enum class Stdio {
  kInherit,  // the parent's
  kNull,     // /dev/null
  kPipe,     // a pipe whose other end the Subprocess holds
};

struct SubprocessOptions {
  // argv[0] is looked up in PATH unless it has a slash.
  std::vector<std::string> argv;
  // "NAME=value" each; none: the parent's environment.
  std::optional<std::vector<std::string>> environment;
  // The child's working folder; empty: the parent's.
  std::string working_folder;

  Stdio stdin_mode = Stdio::kNull;
  Stdio stdout_mode = Stdio::kInherit;
  Stdio stderr_mode = Stdio::kInherit;

  // More descriptors for the child, under the numbers it knows them by (3 or more). Borrowed: the
  // parent still closes its own.
  struct FdMapping {
    int parent_fd;
    int child_fd;
  };
  std::vector<FdMapping> fds;

  // Its own process group, so that Kill() reaches its children too and Ctrl-C does not reach it.
  bool new_process_group = true;

  // SIGKILL when the *thread* that started it ends (PR_SET_PDEATHSIG): start such a child from a
  // thread that outlives it. Reaches the child only, not its children.
  bool die_with_parent = false;

  // Limits that hold for it and its children (setrlimit, soft and hard alike).
  struct Limit {
    int resource;    // RLIMIT_AS, RLIMIT_FSIZE, ...
    uint64_t value;  // in the units of that resource
  };
  std::vector<Limit> limits;
};

struct ExitStatus {
  int code = 0;    // of exit(), when signal is 0
  int signal = 0;  // that ended it, or 0

  bool Success() const { return code == 0 && signal == 0; }
  // "exit status 1", "signal 11 (Segmentation fault)".
  std::string ToString() const;
};

// A running or ended child. The destructor kills it (its whole group if it has one) and waits, so
// that neither a process nor a zombie is left. Not thread-safe, Kill() aside.
class Subprocess {
 public:
  // NOT_FOUND or PERMISSION_DENIED when the program cannot be started; the message names it.
  static Result<Subprocess> Start(const SubprocessOptions& options);

  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;

  pid_t pid() const { return pid_; }

  // Our ends of the pipes that were asked for. Closing stdin_pipe() shows the child its end.
  ScopedFd& stdin_pipe() { return stdin_; }
  ScopedFd& stdout_pipe() { return stdout_; }
  ScopedFd& stderr_pipe() { return stderr_; }

  // Waits until it ends; DEADLINE_EXCEEDED after `timeout_seconds`, when it still runs. Any later
  // call returns the same status at once.
  Result<ExitStatus> Wait(double timeout_seconds);

  // The status if it has ended; does not wait.
  std::optional<ExitStatus> Poll();

  // Sends SIGKILL, or another signal, to the group or the process. No effect after it was waited
  // for: its number may then belong to another process.
  void Kill();
  void Signal(int signal_number);

 private:
  Subprocess() = default;
  void Destroy();

  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<ExitStatus> status_;
  ScopedFd pidfd_;  // none on kernels without pidfd_open
  ScopedFd stdin_, stdout_, stderr_;
};

struct CapturedRun {
  ExitStatus status;
  bool timed_out = false;  // it was then killed
  bool truncated = false;  // it wrote more than was kept
  std::string output;      // of stdout
  std::string errors;      // of stderr
};

// Runs a program to its end with `input` on its stdin and both outputs captured, at most
// `max_output_bytes` each; what is beyond is read and dropped. Stdio modes of `options` are
// ignored. A child that leaves its outputs open to a grandchild is waited for until the timeout.
Result<CapturedRun> RunCaptured(SubprocessOptions options, std::string_view input,
                                double timeout_seconds, size_t max_output_bytes = 1 << 20);

// For a child that could not be started with die_with_parent: asks for SIGKILL when its parent
// ends. `parent_pid` is whom it expects; false: that one is gone already, so exit.
bool DieWithParent(pid_t parent_pid);

}  // namespace temper
