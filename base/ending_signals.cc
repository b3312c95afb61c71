#include "base/ending_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

namespace temper {

Result<EndingSignals> EndingSignals::Block() {
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  sigaddset(&endings, SIGINT);
  if (const int error = pthread_sigmask(SIG_BLOCK, &endings, nullptr)) {
    return ErrnoStatus(error, "cannot block signals");
  }
  signal(SIGPIPE, SIG_IGN);
  ScopedFd fd(signalfd(-1, &endings, SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot wait for signals");
  return EndingSignals(std::move(fd));
}

void EndingSignals::Wait() const {
  pollfd entry{fd_.get(), POLLIN, 0};
  while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace temper
