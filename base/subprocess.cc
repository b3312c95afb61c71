#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

extern char** environ;

namespace temper {
namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::time_point DeadlineIn(double seconds) {
  // A bound keeps the sum within the clock's range.
  seconds = std::clamp(seconds, 0.0, 1e9);
  return SteadyClock::now() +
         std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
}

// Milliseconds for poll(), rounded up so that the last wait is not a busy loop.
int MillisUntil(SteadyClock::time_point deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

ExitStatus DecodeWait(int wait_status) {
  ExitStatus status;
  if (WIFSIGNALED(wait_status)) {
    status.signal = WTERMSIG(wait_status);
  } else {
    status.code = WEXITSTATUS(wait_status);
  }
  return status;
}

// Where the program lies; execve in the child needs a path, and a search there would allocate.
Result<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  size_t begin = 0;
  while (begin <= folders.size()) {
    size_t end = std::min(folders.find(':', begin), folders.size());
    std::string folder = folders.substr(begin, end - begin);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return NotFound("cannot start " + name + ": no such program in PATH");
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Everything the child needs, made before it exists: between vfork and exec it shares our memory
// and may do nothing but system calls.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* working_folder;  // or null
  std::vector<SubprocessOptions::FdMapping> fds;
  std::vector<int> moved;  // room for as many descriptors as fds has
  int first_free_fd;       // beyond every child_fd
  bool new_process_group;
  bool die_with_parent;
  std::vector<SubprocessOptions::Limit> limits;
  pid_t parent;
  sigset_t signal_mask;
  int error_fd;
};

[[noreturn]] void FailInChild(int error_fd) {
  int error_number = errno;
  ssize_t ignored = write(error_fd, &error_number, sizeof(error_number));
  (void)ignored;
  _exit(127);
}

[[noreturn]] void RunChild(ChildPlan& plan) {
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; ++s) sigaction(s, &default_action, nullptr);
  if (plan.new_process_group && setpgid(0, 0) != 0) FailInChild(plan.error_fd);
  if (plan.die_with_parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) FailInChild(plan.error_fd);
    if (getppid() != plan.parent) _exit(127);
  }
  for (const auto& limit : plan.limits) {
    struct rlimit value{limit.value, limit.value};
    if (setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) != 0) {
      FailInChild(plan.error_fd);
    }
  }
  // Nothing is inherited but what is named. Older kernels lack the call: there the descriptors that
  // others opened without O_CLOEXEC are inherited.
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  // Two steps, because a target's number may be another mapping's source.
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    plan.moved[i] = fcntl(plan.fds[i].parent_fd, F_DUPFD_CLOEXEC, plan.first_free_fd);
    if (plan.moved[i] < 0) FailInChild(plan.error_fd);
  }
  int error_fd = fcntl(plan.error_fd, F_DUPFD_CLOEXEC, plan.first_free_fd);
  if (error_fd < 0) FailInChild(plan.error_fd);
  for (size_t i = 0; i < plan.fds.size(); ++i) {
    if (dup2(plan.moved[i], plan.fds[i].child_fd) < 0) FailInChild(error_fd);
  }
  if (plan.working_folder != nullptr && chdir(plan.working_folder) != 0) FailInChild(error_fd);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  execve(plan.program, plan.argv, plan.environment);
  FailInChild(error_fd);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wclobbered"
pid_t Spawn(ChildPlan& plan) {
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);  // no handler of ours may run in the child
  pid_t pid = vfork();
  if (pid == 0) RunChild(plan);
  int error_number = errno;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  errno = error_number;
  return pid;
}
#pragma GCC diagnostic pop

// The child's end of one standard stream in `child`, ours in `parent` (for a pipe).
Status PrepareStdio(Stdio mode, int number, ScopedFd& child, ScopedFd& parent) {
  switch (mode) {
    case Stdio::kInherit:
      child.Reset(fcntl(number, F_DUPFD_CLOEXEC, 3));
      if (child.valid() || errno != EBADF) break;
      [[fallthrough]];  // we have none to inherit
    case Stdio::kNull:
      child.Reset(open("/dev/null", O_RDWR | O_CLOEXEC));
      break;
    case Stdio::kPipe: {
      TEMPER_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
      child = std::move(number == 0 ? pipe.read : pipe.write);
      parent = std::move(number == 0 ? pipe.write : pipe.read);
      break;
    }
  }
  if (!child.valid()) return ErrnoStatus(errno, "cannot prepare a child's standard streams");
  return OkStatus();
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal == 0) return "exit status " + std::to_string(code);
  const char* name = sigdescr_np(signal);
  return "signal " + std::to_string(signal) +
         (name != nullptr ? " (" + std::string(name) + ")" : "");
}

Result<Subprocess> Subprocess::Start(const SubprocessOptions& options) {
  if (options.argv.empty()) return InvalidArgument("cannot start a program without a name");
  TEMPER_ASSIGN_OR_RETURN(std::string program, FindProgram(options.argv[0]));
  std::vector<char*> argv = Pointers(options.argv);
  std::vector<char*> environment;
  if (options.environment) environment = Pointers(*options.environment);

  Subprocess child;
  std::array<ScopedFd, 3> ends;
  TEMPER_RETURN_IF_ERROR(PrepareStdio(options.stdin_mode, 0, ends[0], child.stdin_));
  TEMPER_RETURN_IF_ERROR(PrepareStdio(options.stdout_mode, 1, ends[1], child.stdout_));
  TEMPER_RETURN_IF_ERROR(PrepareStdio(options.stderr_mode, 2, ends[2], child.stderr_));
  TEMPER_ASSIGN_OR_RETURN(Pipe errors, MakePipe());

  ChildPlan plan{};
  plan.program = program.c_str();
  plan.argv = argv.data();
  plan.environment = options.environment ? environment.data() : environ;
  plan.working_folder = options.working_folder.empty() ? nullptr : options.working_folder.c_str();
  for (int i = 0; i < 3; ++i) plan.fds.push_back({ends[static_cast<size_t>(i)].get(), i});
  plan.first_free_fd = 3;
  for (const auto& mapping : options.fds) {
    if (mapping.child_fd < 3) return InvalidArgument("a mapped descriptor's number is 3 or more");
    plan.fds.push_back(mapping);
    plan.first_free_fd = std::max(plan.first_free_fd, mapping.child_fd + 1);
  }
  plan.moved.resize(plan.fds.size());
  plan.new_process_group = options.new_process_group;
  plan.die_with_parent = options.die_with_parent;
  plan.limits = options.limits;
  plan.parent = getpid();
  sigemptyset(&plan.signal_mask);
  plan.error_fd = errors.write.get();

  child.pid_ = Spawn(plan);
  if (child.pid_ < 0) return ErrnoStatus(errno, "cannot start " + options.argv[0]);
  child.own_group_ = options.new_process_group;
  child.pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));

  errors.write.Reset();
  int error_number = 0;
  ssize_t count;
  do {
    count = read(errors.read.get(), &error_number, sizeof(error_number));
  } while (count < 0 && errno == EINTR);
  if (count == sizeof(error_number)) {  // the destructor reaps it
    return ErrnoStatus(error_number, "cannot start " + options.argv[0]);
  }
  return child;
}

Subprocess::~Subprocess() { Destroy(); }

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      own_group_(other.own_group_),
      status_(other.status_),
      pidfd_(std::move(other.pidfd_)),
      stdin_(std::move(other.stdin_)),
      stdout_(std::move(other.stdout_)),
      stderr_(std::move(other.stderr_)) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    Destroy();
    pid_ = std::exchange(other.pid_, -1);
    own_group_ = other.own_group_;
    status_ = other.status_;
    pidfd_ = std::move(other.pidfd_);
    stdin_ = std::move(other.stdin_);
    stdout_ = std::move(other.stdout_);
    stderr_ = std::move(other.stderr_);
  }
  return *this;
}

void Subprocess::Destroy() {
  if (pid_ < 0 || status_) return;
  Kill();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::optional<ExitStatus> Subprocess::Poll() {
  if (status_ || pid_ < 0) return status_;
  int wait_status = 0;
  pid_t pid;
  do {
    pid = waitpid(pid_, &wait_status, WNOHANG);
  } while (pid < 0 && errno == EINTR);
  if (pid == pid_) status_ = DecodeWait(wait_status);
  return status_;
}

Result<ExitStatus> Subprocess::Wait(double timeout_seconds) {
  auto deadline = DeadlineIn(timeout_seconds);
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    if (auto status = Poll()) return *status;
    int left = MillisUntil(deadline);
    if (left == 0) {
      return DeadlineExceeded("process " + std::to_string(pid_) + " still runs");
    }
    if (pidfd_.valid()) {
      pollfd ended{pidfd_.get(), POLLIN, 0};
      poll(&ended, 1, left);
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(10000));
    }
  }
}

void Subprocess::Kill() { Signal(SIGKILL); }

void Subprocess::Signal(int signal_number) {
  if (pid_ <= 0 || status_) return;
  kill(own_group_ ? -pid_ : pid_, signal_number);
}

Result<CapturedRun> RunCaptured(SubprocessOptions options, std::string_view input,
                                double timeout_seconds, size_t max_output_bytes) {
  options.stdin_mode = options.stdout_mode = options.stderr_mode = Stdio::kPipe;
  auto deadline = DeadlineIn(timeout_seconds);
  TEMPER_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Start(options));
  // A child that does not read must not stop us, and one that is gone must not kill us.
  fcntl(child.stdin_pipe().get(), F_SETFL, O_NONBLOCK);
  sigset_t pipe_signal, previous;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &previous);
  bool broken_pipe = false;

  CapturedRun run;
  auto drain = [&](ScopedFd& fd, std::string& kept) {
    char buffer[16384];
    ssize_t count = read(fd.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      fd.Reset();
      return;
    }
    size_t room = max_output_bytes - kept.size();
    run.truncated = run.truncated || static_cast<size_t>(count) > room;
    kept.append(buffer, std::min(static_cast<size_t>(count), room));
  };
  if (input.empty()) child.stdin_pipe().Reset();
  while (child.stdout_pipe().valid() || child.stderr_pipe().valid()) {
    // poll() ignores entries of -1.
    std::array<pollfd, 3> fds = {{{child.stdin_pipe().get(), POLLOUT, 0},
                                  {child.stdout_pipe().get(), POLLIN, 0},
                                  {child.stderr_pipe().get(), POLLIN, 0}}};
    int left = MillisUntil(deadline);
    if (left == 0) break;
    if (poll(fds.data(), fds.size(), left) <= 0) continue;
    if (fds[0].revents != 0) {
      ssize_t count = write(child.stdin_pipe().get(), input.data(), input.size());
      if (count > 0) input.remove_prefix(static_cast<size_t>(count));
      bool gone = count < 0 && errno != EINTR && errno != EAGAIN;
      broken_pipe = broken_pipe || (gone && errno == EPIPE);
      if (gone || input.empty()) child.stdin_pipe().Reset();
    }
    if (fds[1].revents != 0) drain(child.stdout_pipe(), run.output);
    if (fds[2].revents != 0) drain(child.stderr_pipe(), run.errors);
  }
  if (broken_pipe) {  // take the signal that our own write left pending, before it is unblocked
    timespec no_wait{};
    sigtimedwait(&pipe_signal, nullptr, &no_wait);
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);

  auto left = std::chrono::duration<double>(deadline - SteadyClock::now()).count();
  Result<ExitStatus> ended = child.Wait(left);
  if (!ended.ok()) {
    run.timed_out = true;
    child.Kill();
    ended = child.Wait(10);
    if (!ended.ok()) return ended.status();
  }
  run.status = *ended;
  return run;
}

bool DieWithParent(pid_t parent_pid) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent_pid;
}

}  // namespace temper
