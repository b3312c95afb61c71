#include "worker/sandbox/serve.h"

#include <unistd.h>

#include <cstdio>
#include <new>
#include <vector>

#include "base/outcome.h"
#include "worker/sandbox/seccomp_filter.h"

namespace temper::sandbox {
namespace {

constexpr int kRequestDescriptor = 3;

}  // namespace

int FailServing(std::string_view program, const Status& status) {
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(),
               status.message().c_str());
  return 1;
}

int ServeFrames(std::string_view program, bool filter,
                const std::function<Result<Frame>(const Frame& request)>& answer) {
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
  FrameChannel channel{ScopedFd(kRequestDescriptor)};
  if (filter) {
    Status filtered = InstallServingFilter();
    if (!filtered.ok()) return FailServing(program, filtered);
  }
  while (true) {
    auto request = channel.Receive();
    if (request.status().code() == Code::kUnavailable) return 0;
    if (!request.ok()) return FailServing(program, request.status());
    auto reply = answer(*request);
    if (!reply.ok()) return FailServing(program, reply.status());
    std::vector<int> fds;
    for (const ScopedFd& fd : reply->fds) fds.push_back(fd.get());
    Status sent = channel.Send(reply->bytes, fds);
    if (!sent.ok()) return FailServing(program, sent);
  }
}

}  // namespace temper::sandbox
