// Cores set apart for timing: one lock file a core, in a folder that all users of the machine
// share, so that two workers never time on one core, and builds keep off it. A lock is the kernel's
// (flock): it ends with the process that holds it, however that ends.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace temper {

// The folder of the lock files: $TEMPER_CORE_LOCKS where that is set, such as a folder that
// several containers share; else the first of /run/lock/temper, $XDG_RUNTIME_DIR/temper and
// /tmp/temper-locks that can be made and written. FAILED_PRECONDITION says what cannot be written.
Result<std::string> CoreLockFolder();

// The cores that this thread may run on, ascending.
std::vector<int> AllowedCores();
// Restricts the calling thread (and threads it makes) to `cores`.
Status PinToCores(const std::vector<int>& cores);

class CoreLocks {
 public:
  // Locks exactly `cores`. RESOURCE_EXHAUSTED names a core that is taken; INVALID_ARGUMENT one that
  // this process may not run on.
  static Result<CoreLocks> Take(const std::string& folder, const std::vector<int>& cores);
  // Locks `count` free cores, highest numbers first; RESOURCE_EXHAUSTED when there are fewer.
  static Result<CoreLocks> TakeFree(const std::string& folder, int count);

  const std::vector<int>& cores() const { return cores_; }

 private:
  std::vector<int> cores_;  // ascending
  std::vector<ScopedFd> files_;
};

// Those of `cores` that nobody holds a lock on.
std::vector<int> UnlockedCores(const std::string& folder, const std::vector<int>& cores);

}  // namespace temper
