// The signals that ask a server to end, SIGTERM and SIGINT, as something to wait for.
#pragma once

#include "base/file.h"
#include "base/status.h"

namespace temper {

class EndingSignals {
 public:
  // Blocks them in the calling thread and in every thread that is made from here on, so call it
  // before there are others. SIGPIPE is ignored from here on, too: a peer that went away is an
  // error of the write.
  static Result<EndingSignals> Block();

  // Returns once one has come, at once if one came since Block.
  void Wait() const;

 private:
  explicit EndingSignals(ScopedFd fd) : fd_(std::move(fd)) {}

  ScopedFd fd_;
};

}  // namespace temper
