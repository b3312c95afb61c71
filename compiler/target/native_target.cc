#include "compiler/target/native_target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "compiler/target/machine_rates.h"

namespace temper {
namespace {

constexpr size_t kMostBytes = 4096;
constexpr double kMostWaitSeconds = 30;
constexpr std::chrono::milliseconds kPause(10);

std::string PathFor(const std::string& folder, const Target& target) {
  return folder + "/rates-" + Fingerprint(target) + "-" + std::to_string(target.cores);
}

// NOT_FOUND: nobody has measured. Anything but a regular file is an error, since a pipe would be
// waited for.
Result<Rates> ReadRates(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot read " + path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a regular file");
  TEMPER_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMostBytes));
  auto rates = ParseRates(StripWhitespace(text));
  if (!rates.ok()) return rates.status().WithContext(path);
  return rates;
}

// The lock of the rates at `path`, which ends with this process. Waits for another's at most
// kMostWaitSeconds by the machine's clock.
Result<ScopedFd> LockRates(const std::string& path) {
  const std::string lock = path + ".lock";
  ScopedFd file(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "cannot open " + lock);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostWaitSeconds);
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoStatus(errno, "cannot lock " + lock);
    if (std::chrono::steady_clock::now() >= end) {
      return Unavailable("another process has held " + lock + " for " +
                         std::to_string(static_cast<int>(kMostWaitSeconds)) +
                         " s; end it, or choose another folder with TEMPER_CACHE_DIR");
    }
    std::this_thread::sleep_for(kPause);
  }
  return file;
}

// Takes up to 0.4 s. REQUIRES: the lock of the rates at `path` is held.
Status MeasureInto(const std::string& path, const Clock& clock, Target* target) {
  target->rates = MeasureRates(*target, clock);
  return WriteFileAtomic(path, RatesText(target->rates) + "\n");
}

}  // namespace

std::string RatesFolder() {
  if (const char* own = std::getenv("TEMPER_CACHE_DIR")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) {
    return std::string(xdg) + "/temper";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return std::string(home) + "/.cache/temper";
  }
  return {};
}

Target MeasureNative(const std::string& folder, const Clock& clock, Status* written) {
  Target target = DetectTarget();
  *written = OkStatus();
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string path = PathFor(folder, target);
    auto lock = LockRates(path);
    *written = lock.ok() ? MeasureInto(path, clock, &target) : lock.status();
  }
  if (!target.rates.Known()) target.rates = MeasureRates(target, clock);
  return target;
}

Target NativeTarget(const std::string& folder, const Clock& clock, const Logger& log) {
  Target target = DetectTarget();
  if (folder.empty()) return target;
  const std::string path = PathFor(folder, target);
  auto rates = ReadRates(path);
  if (!rates.ok()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    auto lock = LockRates(path);
    // Whoever had the lock may have written them meanwhile.
    rates = ReadRates(path);
    if (!rates.ok() && !lock.ok()) {
      // The folder cannot be written: unknown rates, as always there, are as repeatable.
      if (lock.status().code() == Code::kUnavailable) log.Warning("{}", lock.status().message());
      return target;
    }
    if (!rates.ok()) {
      if (rates.status().code() != Code::kNotFound) {
        log.Warning("{}; this machine is measured anew", rates.status().message());
      }
      Target measured = target;
      const Status written = MeasureInto(path, clock, &measured);
      // What cannot be kept would be another the next time.
      return written.ok() ? measured : target;
    }
  }
  target.rates = *rates;
  return target;
}

Result<Target> TargetOf(const std::string& name, const Logger& log) {
  if (name != "native") return ParseTarget(name);
  SystemClock clock;
  return NativeTarget(RatesFolder(), clock, log);
}

}  // namespace temper
