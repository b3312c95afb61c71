// The system calls that jailed programs may make.
#pragma once

#include "base/file.h"
#include "base/status.h"

namespace temper::sandbox {

// The filter that bubblewrap installs just before it starts a jailed program. It kills a program
// that makes a process (threads are fine), opens a socket, traces, mounts, loads code into the
// kernel, or reaches for another process's memory or descriptors. Written as BPF into an anonymous
// file, ready to be read.
Result<ScopedFd> MakeJailFilter();

// The stricter filter that a program of ours puts on itself once it is set up: a list of what may
// be done (memory, threads, files that are open or can be opened in the jail, time, its socket);
// anything else ends the process with SIGSYS, execve included.
Status InstallServingFilter();

}  // namespace temper::sandbox
