#include "base/core_lock.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace temper {
namespace {

std::string PathOf(const std::string& folder, int core) {
  return folder + "/core-" + std::to_string(core) + ".lock";
}

// The opened and locked file; invalid: somebody else holds it.
Result<ScopedFd> TryLock(const std::string& folder, int core) {
  std::string path = PathOf(folder, core);
  ScopedFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  // In a sticky folder the kernel refuses O_CREAT on another user's file, not plain opening.
  if (!file.valid()) file.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return ErrnoStatus(errno, "cannot open the lock of a core, " + path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno == EWOULDBLOCK || errno == EINTR) return ScopedFd();
  return ErrnoStatus(errno, "cannot lock " + path);
}

// Makes a folder that everybody may use, unless it is there.
bool Usable(const std::string& folder, mode_t mode) {
  if (mkdir(folder.c_str(), 0700) == 0) {
    if (chmod(folder.c_str(), mode) != 0) return false;
  } else if (errno != EEXIST) {
    return false;
  }
  struct stat info{};
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

Result<std::string> CoreLockFolder() {
  const char* chosen = getenv("TEMPER_CORE_LOCKS");
  if (chosen != nullptr && *chosen != '\0') {
    if (Usable(chosen, 0700)) return std::string(chosen);
    return FailedPrecondition(std::string("$TEMPER_CORE_LOCKS names ") + chosen +
                              ", a folder that can neither be made nor written");
  }
  if (Usable("/run/lock/temper", 01777)) return std::string("/run/lock/temper");
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') {
    std::string folder = std::string(runtime) + "/temper";
    if (Usable(folder, 0700)) return folder;
  }
  if (Usable("/tmp/temper-locks", 01777)) return std::string("/tmp/temper-locks");
  return FailedPrecondition(
      "no folder for the locks of cores: /run/lock/temper, $XDG_RUNTIME_DIR/temper and "
      "/tmp/temper-locks cannot be written; make one of them writable");
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

Status PinToCores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE) {
      return InvalidArgument("there is no core " + std::to_string(core));
    }
    CPU_SET(core, &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return ErrnoStatus(errno, "cannot bind a thread to its cores");
  }
  return OkStatus();
}

Result<CoreLocks> CoreLocks::Take(const std::string& folder, const std::vector<int>& cores) {
  CoreLocks locks;
  locks.cores_ = cores;
  std::sort(locks.cores_.begin(), locks.cores_.end());
  locks.cores_.erase(std::unique(locks.cores_.begin(), locks.cores_.end()), locks.cores_.end());
  std::vector<int> allowed = AllowedCores();
  for (int core : locks.cores_) {
    if (!std::binary_search(allowed.begin(), allowed.end(), core)) {
      return InvalidArgument("core " + std::to_string(core) + " is not one this process may use");
    }
    TEMPER_ASSIGN_OR_RETURN(ScopedFd file, TryLock(folder, core));
    if (!file.valid()) {
      return ResourceExhausted("core " + std::to_string(core) +
                               " is taken by another measure-worker (" + PathOf(folder, core) +
                               "); choose another with --cores or stop that worker");
    }
    locks.files_.push_back(std::move(file));
  }
  return locks;
}

Result<CoreLocks> CoreLocks::TakeFree(const std::string& folder, int count) {
  CoreLocks locks;
  std::vector<int> allowed = AllowedCores();
  for (auto core = allowed.rbegin();
       core != allowed.rend() && static_cast<int>(locks.cores_.size()) < count; ++core) {
    TEMPER_ASSIGN_OR_RETURN(ScopedFd file, TryLock(folder, *core));
    if (!file.valid()) continue;
    locks.cores_.push_back(*core);
    locks.files_.push_back(std::move(file));
  }
  if (static_cast<int>(locks.cores_.size()) < count) {
    return ResourceExhausted("only " + std::to_string(locks.cores_.size()) + " of the " +
                             std::to_string(count) + " cores to time on are free (locks in " +
                             folder + "); stop another measure-worker or ask for fewer --threads");
  }
  std::sort(locks.cores_.begin(), locks.cores_.end());
  return locks;
}

std::vector<int> UnlockedCores(const std::string& folder, const std::vector<int>& cores) {
  std::vector<int> free;
  for (int core : cores) {
    ScopedFd file(open(PathOf(folder, core).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    // A shared lock, so that two processes that look at once do not see each other.
    if (!file.valid() || flock(file.get(), LOCK_SH | LOCK_NB) == 0) free.push_back(core);
  }
  return free;
}

}  // namespace temper
