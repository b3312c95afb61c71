// Memory for a kernel's operands that shows accesses outside it: a page that cannot be touched
// follows the buffer at once (up to alignment), and a known pattern lies on both sides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace temper::runner {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  ~GuardedBuffer() { Release(); }
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;

  // Zeroed, aligned to 64 bytes. RESOURCE_EXHAUSTED when there is no memory.
  static Result<GuardedBuffer> Allocate(int64_t bytes);

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  // Whether the pattern before and behind the buffer is still there.
  bool Intact() const;

 private:
  void Release();

  uint8_t* region_ = nullptr;  // what was mapped, the guard page included
  size_t region_bytes_ = 0;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  size_t padded_ = 0;  // bytes_ rounded up to 64
};

}  // namespace temper::runner
