#include "worker/agent/servant.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"

namespace temper::agent {
namespace {

constexpr double kEndSeconds = 1;  // that a program may take to end by itself

}  // namespace

Status Servant::Start() {
  TEMPER_ASSIGN_OR_RETURN(auto ends, FrameChannel::MakePair());
  sandbox::JailOptions options = options_;
  options.fds.push_back({ends.second.fd(), 3});
  options.stderr_mode = Stdio::kPipe;
  TEMPER_ASSIGN_OR_RETURN(Subprocess child, sandbox::StartJailed(options));
  child_.emplace(std::move(child));
  channel_ = std::move(ends.first);
  ++starts_;
  return OkStatus();
}

Servant::~Servant() {
  channel_.Close();
  if (child_.has_value()) (void)child_->Wait(kEndSeconds).ok();
}

void Servant::Stop() {
  channel_.Close();
  child_.reset();
}

// What it wrote to its standard error: a pipe, so never more than that holds.
std::string Servant::LastWords() {
  int fd = child_->stderr_pipe().get();
  char text[2048];
  fcntl(fd, F_SETFL, O_NONBLOCK);
  ssize_t n = read(fd, text, sizeof(text));
  std::string words(text, n > 0 ? static_cast<size_t>(n) : 0);
  return EscapeControl(StripWhitespace(words));
}

Answer Servant::Ended() {
  Answer answer;
  auto status = child_->Wait(5);
  std::string words = LastWords();
  if (!status.ok()) {
    answer.outcome = Outcome::kInfrastructure;
    answer.message = "the program closed its socket but did not end";
  } else if (int signal = sandbox::SignalOf(*status); signal != 0) {
    answer.outcome = Outcome::kCrashed;
    const char* name = sigdescr_np(signal);
    answer.message = "signal " + std::to_string(signal) + " (" +
                     (signal == SIGSYS  ? "a system call that is not allowed"
                      : name != nullptr ? name
                                        : "unknown") +
                     ")";
  } else if (status->code == kOutOfMemoryExit) {
    answer.outcome = Outcome::kOutOfMemory;
    answer.message = "no more memory within the limit";
  } else {
    answer.outcome = Outcome::kInfrastructure;
    answer.message = "it ended with " + status->ToString();
  }
  if (!words.empty()) answer.message += ": " + words;
  Stop();
  return answer;
}

Answer Servant::Call(const std::string& request, const std::vector<int>& fds,
                     double timeout_seconds) {
  Answer answer;
  if (!child_.has_value()) {
    Status started = Start();
    if (!started.ok()) {
      answer.outcome = Outcome::kInfrastructure;
      answer.message = started.message();
      return answer;
    }
  }
  Status sent = channel_.Send(request, fds, timeout_seconds);
  if (sent.code() == Code::kUnavailable) return Ended();
  if (sent.ok()) {
    auto frame = channel_.Receive(timeout_seconds);
    if (frame.ok()) {
      answer.frame = std::move(*frame);
      return answer;
    }
    if (frame.status().code() == Code::kUnavailable) return Ended();
    sent = frame.status();
  }
  answer.outcome =
      sent.code() == Code::kDeadlineExceeded ? Outcome::kTimedOut : Outcome::kInfrastructure;
  answer.message = sent.code() == Code::kDeadlineExceeded
                       ? "no answer within " + std::to_string(timeout_seconds) + " s"
                       : sent.message();
  Stop();
  return answer;
}

}  // namespace temper::agent
