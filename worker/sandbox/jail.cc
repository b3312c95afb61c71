#include "worker/sandbox/jail.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "worker/sandbox/seccomp_filter.h"

namespace temper::sandbox {
namespace {

std::string BaseName(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> BubblewrapArguments(const JailOptions& options, int filter_fd) {
  std::string inside = "/run/temper/" + BaseName(options.program);
  std::string size = std::to_string(options.limits.temporary_bytes);
  std::vector<std::string> argv = {"bwrap", "--unshare-all", "--new-session", "--die-with-parent"};
  auto add = [&](std::initializer_list<std::string> more) {
    argv.insert(argv.end(), more.begin(), more.end());
  };
  for (const char* folder : {"/usr", "/lib", "/lib64", "/lib32", "/bin", "/opt"}) {
    add({"--ro-bind-try", folder, folder});
  }
  // What a processor is: caches and cores.
  add({"--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"});
  for (const char* file : {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"}) {
    add({"--ro-bind-try", file, file});
  }
  add({"--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp"});
  add({"--ro-bind", options.program, inside, "--chdir", "/tmp"});
  add({"--seccomp", std::to_string(filter_fd), "--", inside});
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  return argv;
}

}  // namespace

Result<Subprocess> StartJailed(const JailOptions& options) {
  struct stat info{};
  if (stat(options.program.c_str(), &info) != 0) {
    return NotFound("cannot find the program " + options.program +
                    "; it belongs beside measure-worker");
  }
  SubprocessOptions child;
  child.stdin_mode = Stdio::kNull;
  child.stdout_mode = Stdio::kNull;
  child.stderr_mode = options.stderr_mode;
  child.fds = options.fds;
  child.die_with_parent = true;
  child.environment = std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp",
                                               "HOME=/tmp", "LC_ALL=C"};
  child.limits = {{RLIMIT_AS, options.limits.address_space_bytes},
                  {RLIMIT_FSIZE, options.limits.temporary_bytes},
                  {RLIMIT_NOFILE, options.limits.open_files},
                  {RLIMIT_CORE, 0}};
  if (options.limits.cpu_seconds > 0) {
    child.limits.push_back({RLIMIT_CPU, options.limits.cpu_seconds});
  }
  if (!options.sandboxed) {
    child.argv = {options.program};
    child.argv.insert(child.argv.end(), options.arguments.begin(), options.arguments.end());
    return Subprocess::Start(child);
  }
  TEMPER_ASSIGN_OR_RETURN(ScopedFd filter, MakeJailFilter());
  int filter_fd = 3;
  for (const auto& mapping : options.fds) filter_fd = std::max(filter_fd, mapping.child_fd + 1);
  child.fds.push_back({filter.get(), filter_fd});
  child.argv = BubblewrapArguments(options, filter_fd);
  auto started = Subprocess::Start(child);
  if (!started.ok() && started.status().code() == Code::kNotFound) {
    return FailedPrecondition("cannot make a sandbox: bubblewrap (bwrap) is not installed");
  }
  return started;
}

int SignalOf(const ExitStatus& status) {
  if (status.signal != 0) return status.signal;
  return status.code > 128 && status.code < 128 + 65 ? status.code - 128 : 0;
}

Status ProbeJail(const std::string& program, const std::vector<std::string>& arguments) {
  JailOptions options;
  options.program = program;
  options.arguments = arguments;
  options.stderr_mode = Stdio::kPipe;
  TEMPER_ASSIGN_OR_RETURN(Subprocess child, StartJailed(options));
  auto status = child.Wait(10);
  if (!status.ok()) return status.status().WithContext("the sandbox does not start");
  if (status->Success()) return OkStatus();
  char text[512];
  ssize_t n = read(child.stderr_pipe().get(), text, sizeof(text));
  std::string reason(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return FailedPrecondition("cannot make a sandbox (" + status->ToString() + "): " + reason);
}

}  // namespace temper::sandbox
