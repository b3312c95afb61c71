// A built kernel, loaded into this process.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "deploy/runtime/abi.h"

namespace temper::runner {

// Sizes of one argument, checked against overflow.
struct ArgLayout {
  int64_t elements = 0;  // of the buffer, halo included
  int64_t bytes = 0;     // of the buffer
  int64_t logical_elements = 0;
  int64_t source_elements = 0;  // of a packed constant before packing; else logical_elements
};
Result<ArgLayout> LayoutOf(const temper_arg_info& info);

// Unloads itself when destroyed.
class Candidate {
 public:
  // Loads the shared object behind `fd` (borrowed) and checks its description: every number is
  // hostile. INVALID_ARGUMENT says what is wrong.
  static Result<Candidate> Load(int fd);
  ~Candidate();
  Candidate(Candidate&& other) noexcept;
  Candidate& operator=(Candidate&& other) noexcept;

  const temper_candidate_info& info() const { return *info_; }
  const std::vector<ArgLayout>& layouts() const { return layouts_; }

 private:
  Candidate() = default;

  void* handle_ = nullptr;
  const temper_candidate_info* info_ = nullptr;
  std::vector<ArgLayout> layouts_;
};

}  // namespace temper::runner
