// Starts programs of ours in a jail made by bubblewrap: namespaces of their own for processes,
// network, IPC and mounts; /usr and the like read-only and nothing else of the system but its own
// program; a private temporary folder of bounded size; a seccomp filter that kills; limits on
// memory, files and processor time. All of the jail ends when its parent thread does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/subprocess.h"

namespace temper::sandbox {

struct JailLimits {
  uint64_t address_space_bytes = uint64_t{8} << 30;
  uint64_t temporary_bytes = uint64_t{256} << 20;  // of the temporary folder, and of any one file
  uint64_t open_files = 256;
  uint64_t cpu_seconds = 0;  // 0: no limit
};

struct JailOptions {
  std::string program;  // path of the executable; the jail sees it, whatever folder it lies in
  std::vector<std::string> arguments;
  std::vector<SubprocessOptions::FdMapping> fds;
  JailLimits limits;
  Stdio stderr_mode = Stdio::kNull;
  // False: a plain child with the limits alone, for --allow-unsandboxed.
  bool sandboxed = true;
};

// The child dies when the calling thread ends. Its exit status is the program's: 128 + n for a
// program that signal n ended (see SignalOf).
Result<Subprocess> StartJailed(const JailOptions& options);

// The signal that ended a jailed program, or 0.
int SignalOf(const ExitStatus& status);

// Whether jails work here: starts one around `program` with `arguments`, which must exit 0 within
// ten seconds. FAILED_PRECONDITION says what is missing and what to do.
Status ProbeJail(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace temper::sandbox
