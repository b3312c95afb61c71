// measure-runner: serves requests of its worker on descriptor 3, in a jail. Not for people.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/core_lock.h"
#include "base/frame_channel.h"
#include "base/text.h"
#include "worker/runner/service.h"
#include "worker/sandbox/serve.h"

namespace {

constexpr const char* kProgram = "measure-runner";

int Fail(const temper::Status& status) { return temper::sandbox::FailServing(kProgram, status); }

}  // namespace

int main(int argc, char** argv) {
  using namespace temper;
  std::vector<int> cores;
  int threads = 1;
  bool filter = true;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--probe") return 0;
    if (argument == "--unfiltered") {
      filter = false;
    } else if (argument.rfind("--threads=", 0) == 0) {
      auto n = ParseInt64(argument.substr(10));
      if (!n.ok() || *n < 1 || *n > 1024) return Fail(InvalidArgument("bad --threads"));
      threads = static_cast<int>(*n);
    } else if (argument.rfind("--cores=", 0) == 0) {
      for (std::string_view piece : SplitString(std::string_view(argument).substr(8), ',')) {
        auto core = ParseInt64(piece);
        if (!core.ok()) return Fail(core.status());
        cores.push_back(static_cast<int>(*core));
      }
    } else {
      std::fprintf(stderr, "measure-runner is started by measure-worker; see its --help\n");
      return 2;
    }
  }
  if (!cores.empty()) {
    Status pinned = PinToCores(cores);
    if (!pinned.ok()) return Fail(pinned);
  }
  runner::RunnerService service(threads);
  return sandbox::ServeFrames(kProgram, filter, [&](const Frame& frame) -> Result<Frame> {
    proto::RunnerRequest request;
    if (!request.ParseFromString(frame.bytes)) return DataLoss("a request is malformed");
    return Frame{service.Serve(request, frame.fds).SerializeAsString(), {}};
  });
}
