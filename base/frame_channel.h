// Frames over a unix socket between two processes of this machine: a length, bytes, and open
// descriptors that go along. The peer may be hostile: lengths are bounded before memory is taken.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace temper {

struct Frame {
  std::string bytes;
  std::vector<ScopedFd> fds;
};

// One end. Not thread-safe; one thread may send while another receives.
class FrameChannel {
 public:
  static constexpr size_t kMaxFds = 4;
  static constexpr size_t kDefaultMaxBytes = size_t{64} << 20;

  FrameChannel() = default;
  explicit FrameChannel(ScopedFd socket, size_t max_bytes = kDefaultMaxBytes)
      : socket_(std::move(socket)), max_bytes_(max_bytes) {}

  // Two connected ends, closed on exec.
  static Result<std::pair<FrameChannel, FrameChannel>> MakePair(
      size_t max_bytes = kDefaultMaxBytes);

  bool valid() const { return socket_.valid(); }
  int fd() const { return socket_.get(); }
  void Close() { socket_.Reset(); }

  // Sends all of it; `fds` are borrowed. UNAVAILABLE: the peer is gone. DEADLINE_EXCEEDED after
  // `timeout_seconds` without an end (negative: waits for ever); the channel is then unusable.
  Status Send(std::string_view bytes, const std::vector<int>& fds = {},
              double timeout_seconds = -1);

  // The next frame. UNAVAILABLE: the peer is gone, DATA_LOSS: it breaks the format, then the
  // channel is unusable. DEADLINE_EXCEEDED: nothing whole came in time; when no byte of a frame
  // had come, calling again is fine.
  Result<Frame> Receive(double timeout_seconds = -1);

 private:
  ScopedFd socket_;
  size_t max_bytes_ = kDefaultMaxBytes;
};

}  // namespace temper
