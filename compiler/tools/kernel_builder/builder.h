// What kernel-builder does with a request: a workload and a schedule become a shared object. One
// thread. Every request is hostile: the workload and the schedule are checked before they are used.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "compiler/codegen/codegen.h"
#include "proto/runner.pb.h"

namespace temper::tools {

// A kernel whose innermost loops touch spill slots so often has a tile that does not fit the
// registers; it is not worth timing.
inline constexpr int64_t kMaxInnerSpills = 16;

class KernelBuilder {
 public:
  // Objects are written in `folder`, best in memory.
  explicit KernelBuilder(std::string folder) : folder_(std::move(folder)) {}

  struct Built {
    proto::BuildReply reply;
    ScopedFd object;  // with outcome OK: the shared object, open for reading; its name is gone
  };
  // Never fails: what is wrong is in the reply.
  Built Build(const proto::BuildRequest& request);

 private:
  struct Workload {
    std::string bytes;  // as received
    te::Program program;
    Hash hash;
    std::map<int, te::Program> alternatives;  // made so far, the workload itself aside
  };

  Result<Workload*> FindWorkload(const proto::Workload& workload);
  static Result<const te::Program*> AlternativeOf(Workload& workload, int alternative);
  Result<codegen::Compiler*> CompilerFor(const Target& target);
  Status Compile(const proto::BuildRequest& request, Built& built);
  Status AddExpected(const proto::BuildRequest& request, const te::Program& program,
                     proto::BuildReply& reply);

  std::string folder_;
  std::list<Workload> workloads_;  // most recently used first
  std::string target_text_;        // of compiler_
  std::unique_ptr<codegen::Compiler> compiler_;
};

}  // namespace temper::tools
