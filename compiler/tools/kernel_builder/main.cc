// kernel-builder: serves build requests of its worker on descriptor 3, in a jail. Not for people.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/frame_channel.h"
#include "compiler/tools/kernel_builder/builder.h"
#include "worker/sandbox/serve.h"

namespace {

constexpr const char* kProgram = "kernel-builder";

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
  auto folder =
      ScopedTempDir::Create("build", access("/dev/shm", W_OK) == 0 && !filter ? "/dev/shm" : "");
  if (!folder.ok()) return sandbox::FailServing(kProgram, folder.status());
  tools::KernelBuilder builder(folder->path());
  return sandbox::ServeFrames(kProgram, filter, [&](const Frame& frame) -> Result<Frame> {
    proto::BuildRequest request;
    if (!request.ParseFromString(frame.bytes)) return DataLoss("a request is malformed");
    auto built = builder.Build(request);
    Frame reply{built.reply.SerializeAsString(), {}};
    if (built.object.valid()) reply.fds.push_back(std::move(built.object));
    return reply;
  });
}
