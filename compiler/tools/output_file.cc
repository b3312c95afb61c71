#include "compiler/tools/output_file.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "compiler/tools/console.h"

namespace temper::tools {
namespace {

constexpr int kStop = SIGUSR1;  // ends the watch; only ever sent to its thread
constexpr int kRemovals = 100;  // the threads that make the result may add files meanwhile

bool Ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

class WatchedFolder : public OutputFolder {
 public:
  explicit WatchedFolder(ScopedTempDir folder)
      : folder_(std::move(folder)), path_(folder_->path()) {
    sigemptyset(&signals_);
    sigaddset(&signals_, kStop);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      if (!Ignored(signal)) sigaddset(&signals_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    watch_ = std::thread([this] { Watch(); });
  }
  ~WatchedFolder() override {
    pthread_kill(watch_.native_handle(), kStop);
    watch_.join();
    folder_.reset();  // before a signal that came meanwhile is let through
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  const std::string& path() const override { return path_; }

 private:
  void Watch() {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
    if (signal == kStop) return;
    std::error_code failed;
    for (int i = 0; i < kRemovals; ++i) {
      std::filesystem::remove_all(path_, failed);
      if (!failed) break;
    }
    // The signal's own end, so that whoever waits for the process learns of it.
    ::signal(signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    raise(signal);
  }

  std::optional<ScopedTempDir> folder_;
  const std::string path_;
  sigset_t signals_{}, before_{};
  std::thread watch_;
};

}  // namespace

int CheckOutput(std::string_view verb, const std::string& path,
                const std::vector<std::string>& inputs) {
  struct stat output{};
  if (stat(path.c_str(), &output) != 0) return kExitOk;  // writing says what is wrong, if anything
  for (const std::string& input : inputs) {
    struct stat info{};
    if (input.empty() || stat(input.c_str(), &info) != 0) continue;
    if (info.st_dev != output.st_dev || info.st_ino != output.st_ino) continue;
    return FailUsage(
        verb, "-o " + path + " would replace " + input + ", which is read; choose another file");
  }
  if (S_ISREG(output.st_mode)) return kExitOk;
  return Fail(InvalidArgument("cannot write " + path +
                              ": it is there and not a regular file; choose another name"));
}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Create(const std::string& output) {
  std::string folder = std::filesystem::path(output).parent_path();
  auto made = ScopedTempDir::Create(".temper-", folder.empty() ? "." : folder);
  if (!made.ok()) return made.status().WithContext("cannot write " + output);
  return std::unique_ptr<OutputFolder>(std::make_unique<WatchedFolder>(*std::move(made)));
}

}  // namespace temper::tools
