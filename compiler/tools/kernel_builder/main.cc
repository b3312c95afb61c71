// kernel-builder: serves build requests of its worker on descriptor 3, in a jail. Not for people.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "base/frame_channel.h"
#include "base/outcome.h"
#include "compiler/tools/kernel_builder/builder.h"
#include "worker/sandbox/seccomp_filter.h"

namespace {

int Fail(const temper::Status& status) {
  std::fprintf(stderr, "kernel-builder: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace temper;
  bool filter = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--probe") == 0) return 0;
    if (std::strcmp(argv[i], "--unfiltered") != 0) {
      std::fprintf(stderr, "kernel-builder is started by measure-worker; see its --help\n");
      return 2;
    }
    filter = false;
  }
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
  auto folder =
      ScopedTempDir::Create("build", access("/dev/shm", W_OK) == 0 && !filter ? "/dev/shm" : "");
  if (!folder.ok()) return Fail(folder.status());
  tools::KernelBuilder builder(folder->path());
  FrameChannel channel{ScopedFd(3)};
  if (filter) {
    Status filtered = sandbox::InstallServingFilter();
    if (!filtered.ok()) return Fail(filtered);
  }
  while (true) {
    auto frame = channel.Receive();
    if (!frame.ok()) return frame.status().code() == Code::kUnavailable ? 0 : Fail(frame.status());
    proto::BuildRequest request;
    if (!request.ParseFromString(frame->bytes)) return Fail(DataLoss("a request is malformed"));
    auto built = builder.Build(request);
    std::vector<int> fds;
    if (built.object.valid()) fds.push_back(built.object.get());
    Status sent = channel.Send(built.reply.SerializeAsString(), fds);
    if (!sent.ok()) return Fail(sent);
  }
}
