#include "tuner/client/local_services.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "base/subprocess.h"
#include "base/text.h"

namespace temper::tuner {
namespace {

constexpr size_t kKeptWords = 4000;

// A child whose standard error is read all the time, so that it never waits for us, and whose last
// words are kept.
class Service {
 public:
  Service(std::string name, Subprocess child) : name_(std::move(name)), child_(std::move(child)) {
    reader_ = std::thread([this] { Read(); });
  }
  ~Service() {
    Stop();
    reader_.join();
  }

  Subprocess& child() { return child_; }

  void Stop() {
    child_.Signal(SIGTERM);
    if (!child_.Wait(10).ok()) child_.Kill();
    // A grandchild that still holds the pipe dies with its parent, so this wait is short.
    (void)child_.Wait(5).ok();
  }

  // Why it ended, waiting up to `seconds` for that; OK if it runs then.
  Status WhyItEnded(double seconds) {
    (void)child_.Wait(seconds).ok();
    return Check();
  }

  Status Check() {
    auto status = child_.Poll();
    if (!status.has_value()) return OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // its last words may still come
    std::lock_guard lock(mutex_);
    std::string words(StripWhitespace(words_));
    return Unavailable(name_ + " ended with " + status->ToString() +
                       (words.empty() ? "" : ":\n" + words));
  }

 private:
  void Read() {
    char buffer[4096];
    while (true) {
      ssize_t n = read(child_.stderr_pipe().get(), buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      std::lock_guard lock(mutex_);
      words_.append(buffer, static_cast<size_t>(n));
      if (words_.size() > kKeptWords) words_.erase(0, words_.size() - kKeptWords);
    }
  }

  std::string name_;
  Subprocess child_;
  std::thread reader_;
  std::mutex mutex_;
  std::string words_;
};

Result<std::unique_ptr<Service>> StartService(const std::string& folder, const std::string& name,
                                              std::vector<std::string> arguments, Stdio out) {
  SubprocessOptions options;
  options.argv = {folder + "/" + name};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.stdout_mode = out;
  options.stderr_mode = Stdio::kPipe;
  options.die_with_parent = true;
  TEMPER_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Start(options));
  return std::make_unique<Service>(name, std::move(child));
}

// The first line, within `seconds`; what ends before is told by Check().
Result<std::string> FirstLine(int fd, double seconds) {
  std::string line;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < deadline && line.size() < 1000) {
    pollfd entry{fd, POLLIN, 0};
    if (poll(&entry, 1, 100) <= 0) continue;
    char c = 0;
    if (read(fd, &c, 1) != 1) break;
    if (c == '\n') return line;
    line += c;
  }
  return Unavailable("tuner-server did not say where it listens");
}

class Local final : public LocalServices {
 public:
  Status Start(const LocalOptions& options) {
    TEMPER_ASSIGN_OR_RETURN(
        server_, StartService(options.program_folder, "tuner-server",
                              {"--listen", "127.0.0.1:0", "--db", options.db}, Stdio::kPipe));
    auto line = FirstLine(server_->child().stdout_pipe().get(), 20);
    if (!line.ok()) {
      TEMPER_RETURN_IF_ERROR(server_->WhyItEnded(2));
      return line.status();
    }
    address_ = *line;
    std::vector<std::string> arguments = {"--server",  address_,
                                          "--threads", std::to_string(options.threads),
                                          "--target",  options.target};
    if (options.allow_unsandboxed) arguments.push_back("--allow-unsandboxed");
    TEMPER_ASSIGN_OR_RETURN(worker_, StartService(options.program_folder, "measure-worker",
                                                  std::move(arguments), Stdio::kNull));
    return OkStatus();
  }

  const std::string& address() const override { return address_; }

  Status Check() override {
    TEMPER_RETURN_IF_ERROR(server_->Check());
    return worker_->Check();
  }

  void Stop() override {
    worker_.reset();
    server_.reset();
  }

 private:
  std::unique_ptr<Service> server_, worker_;
  std::string address_;
};

}  // namespace

Result<std::unique_ptr<LocalServices>> LocalServices::Start(const LocalOptions& options) {
  auto local = std::make_unique<Local>();
  TEMPER_RETURN_IF_ERROR(local->Start(options));
  return std::unique_ptr<LocalServices>(std::move(local));
}

std::string OwnProgramFolder() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  std::string text(path, n > 0 ? static_cast<size_t>(n) : 0);
  return text.substr(0, text.rfind('/'));
}

}  // namespace temper::tuner
