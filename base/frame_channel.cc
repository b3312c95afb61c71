#include "base/frame_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace temper {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Same machine, so the byte order is the same.
struct Header {
  uint32_t magic;
  uint32_t fd_count;
  uint64_t bytes;
};
constexpr uint32_t kMagic = 0x46504d54;  // "TMPF"

struct Deadline {
  explicit Deadline(double seconds) : forever(seconds < 0) {
    if (forever) return;
    at = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                  std::chrono::duration<double>(std::min(seconds, 1e9)));
  }
  int PollMillis() const {
    if (forever) return -1;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(at - SteadyClock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
  }
  bool forever;
  SteadyClock::time_point at{};
};

// Waits for `events`. False: the time is over.
Result<bool> WaitFor(int fd, short events, const Deadline& deadline) {
  while (true) {
    pollfd entry{fd, events, 0};
    int n = poll(&entry, 1, deadline.PollMillis());
    if (n > 0) return true;
    if (n == 0) {
      if (deadline.PollMillis() == 0) return false;
      continue;
    }
    if (errno != EINTR) return ErrnoStatus(errno, "cannot wait for a child's socket");
  }
}

Status Gone() { return Unavailable("the peer process closed its socket"); }

}  // namespace

Result<std::pair<FrameChannel, FrameChannel>> FrameChannel::MakePair(size_t max_bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "cannot make a socket pair");
  }
  return std::pair{FrameChannel(ScopedFd(ends[0]), max_bytes),
                   FrameChannel(ScopedFd(ends[1]), max_bytes)};
}

Status FrameChannel::Send(std::string_view bytes, const std::vector<int>& fds,
                          double timeout_seconds) {
  if (bytes.size() > max_bytes_) {
    return ResourceExhausted("a message of " + std::to_string(bytes.size()) +
                             " bytes is larger than the " + std::to_string(max_bytes_) +
                             " that a frame may have");
  }
  if (fds.size() > kMaxFds) return InvalidArgument("too many descriptors for one frame");
  Deadline deadline(timeout_seconds);
  Header header{kMagic, static_cast<uint32_t>(fds.size()), bytes.size()};
  size_t sent = 0;
  const size_t total = sizeof(header) + bytes.size();
  while (sent < total) {
    iovec parts[2];
    int count = 0;
    if (sent < sizeof(header)) {
      parts[count++] = {reinterpret_cast<char*>(&header) + sent, sizeof(header) - sent};
    }
    size_t done = sent > sizeof(header) ? sent - sizeof(header) : 0;
    if (done < bytes.size()) {
      parts[count++] = {const_cast<char*>(bytes.data()) + done, bytes.size() - done};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<size_t>(count);
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
    if (sent == 0 && !fds.empty()) {  // descriptors ride on the first byte
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
    }
    ssize_t n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return Gone();
    if (errno != EAGAIN) return ErrnoStatus(errno, "cannot send to a child process");
    TEMPER_ASSIGN_OR_RETURN(bool ready, WaitFor(socket_.get(), POLLOUT, deadline));
    if (!ready) return DeadlineExceeded("the peer process does not read its messages");
  }
  return OkStatus();
}

Result<Frame> FrameChannel::Receive(double timeout_seconds) {
  Deadline deadline(timeout_seconds);
  Frame frame;
  Header header{};
  size_t got = 0;
  size_t total = sizeof(header);
  while (got < total) {
    bool in_header = got < sizeof(header);
    iovec part{};
    if (in_header) {
      part = {reinterpret_cast<char*>(&header) + got, sizeof(header) - got};
    } else {
      size_t done = got - sizeof(header);
      part = {frame.bytes.data() + done, frame.bytes.size() - done};
    }
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t n = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == ECONNRESET) return Gone();
      if (errno != EAGAIN) return ErrnoStatus(errno, "cannot receive from a child process");
      TEMPER_ASSIGN_OR_RETURN(bool ready, WaitFor(socket_.get(), POLLIN, deadline));
      if (!ready) return DeadlineExceeded("the peer process did not answer in time");
      continue;
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        frame.fds.emplace_back(fd);
      }
    }
    if (n == 0) {
      if (got == 0) return Gone();
      return DataLoss("the peer process ended within a message");
    }
    got += static_cast<size_t>(n);
    if (in_header && got == sizeof(header)) {
      if (header.magic != kMagic || header.bytes > max_bytes_ || header.fd_count > kMaxFds) {
        return DataLoss("the peer process sent something that is no message");
      }
      frame.bytes.resize(header.bytes);
      total += header.bytes;
    }
  }
  if (frame.fds.size() != header.fd_count) {
    return DataLoss("a message of the peer process lacks its descriptors");
  }
  return frame;
}

}  // namespace temper
