// Where a verb may write its result, and a place to make it in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace temper::tools {

// kExitOk where `path` is absent or a regular file that is none of `inputs` (by inode, through
// links; empty names are left out). Otherwise says why not on stderr: kExitUsage where writing
// would destroy an input, kExitFailure where a rename would replace a device, a pipe or a folder.
int CheckOutput(std::string_view verb, const std::string& path,
                const std::vector<std::string>& inputs);

// A private folder beside a result, to make it in and rename it from. It is removed with this
// object, and before SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the process: until then a thread waits
// for those, which are blocked in the calling thread and in threads that it starts meanwhile. A
// signal that was ignored stays so. REQUIRES: the only such object of the process; destroyed by its
// maker.
class OutputFolder {
 public:
  static Result<std::unique_ptr<OutputFolder>> Create(const std::string& output);
  virtual ~OutputFolder() = default;
  virtual const std::string& path() const = 0;
};

}  // namespace temper::tools
