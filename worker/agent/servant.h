// A jailed program that serves requests, replaced when it dies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/frame_channel.h"
#include "base/outcome.h"
#include "base/subprocess.h"
#include "worker/sandbox/jail.h"

namespace temper::agent {

// How a call ended.
struct Answer {
  // kOk: `frame` is the reply. kTimedOut, kCrashed, kOutOfMemory: what the program did; it is gone.
  // kInfrastructure: it could not be started or spoke nonsense.
  Outcome outcome = Outcome::kOk;
  std::string message;  // why it is not kOk
  Frame frame;
};

// Use from one thread only: the program dies with the thread that started it.
class Servant {
 public:
  explicit Servant(sandbox::JailOptions options) : options_(std::move(options)) {}
  // An idle program sees its socket's end, puts away its files and ends; it is killed if it does
  // not.
  ~Servant();
  Servant(const Servant&) = delete;
  Servant& operator=(const Servant&) = delete;

  // Sends a request with descriptors (borrowed) and waits for the reply. Starts the program if it
  // does not run; when the time is over, or the program ends instead, it is gone afterwards.
  Answer Call(const std::string& request, const std::vector<int>& fds, double timeout_seconds);

  bool running() const { return child_.has_value(); }
  // How often the program was started.
  int starts() const { return starts_; }
  void Stop();

 private:
  Status Start();
  Answer Ended();
  std::string LastWords();

  sandbox::JailOptions options_;
  std::optional<Subprocess> child_;
  FrameChannel channel_;
  int starts_ = 0;
};

}  // namespace temper::agent
