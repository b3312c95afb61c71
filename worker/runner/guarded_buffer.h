// Memory for a kernel's operands that shows accesses outside it: addresses that cannot be
// touched follow the buffer at once (up to alignment) and precede its first page, 16 MiB of them
// on each side, and a known pattern lies between.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace temper::runner {

// How the system may hold a buffer: a compiled model has its arena in huge pages where there are
// some, and its constants in the pages of the file that it is mapped from.
enum class Pages { kHuge, kSmall };

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  ~GuardedBuffer() { Release(); }
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;

  // Zeroed, aligned to 64 bytes. RESOURCE_EXHAUSTED when there is no memory.
  static Result<GuardedBuffer> Allocate(int64_t bytes, Pages pages = Pages::kHuge);

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  // Whether the pattern before and behind the buffer is still there.
  bool Intact() const;

 private:
  void Release();

  uint8_t* region_ = nullptr;  // what was mapped, the guards included
  size_t region_bytes_ = 0;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  size_t padded_ = 0;  // bytes_ rounded up to 64
};

}  // namespace temper::runner
