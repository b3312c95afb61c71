#include "worker/runner/guarded_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace temper::runner {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kFence = 64;  // bytes of pattern before the buffer
// What cannot be touched on each side: only addresses, no memory. Wide, as an index that is wrong
// by a row or a plane must not land in a mapping that happens to lie near.
constexpr size_t kGuard = size_t{16} << 20;
constexpr uint8_t kPattern = 0xa5;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(region_, other.region_);
  std::swap(region_bytes_, other.region_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(padded_, other.padded_);
  return *this;
}

void GuardedBuffer::Release() {
  if (region_ != nullptr) munmap(region_, region_bytes_);
  region_ = nullptr;
}

Result<GuardedBuffer> GuardedBuffer::Allocate(int64_t bytes, Pages pages) {
  if (bytes < 0 || bytes > (int64_t{1} << 40)) {
    return ResourceExhausted("a buffer of " + std::to_string(bytes) + " bytes cannot be had");
  }
  GuardedBuffer buffer;
  buffer.bytes_ = bytes;
  buffer.padded_ = RoundUp(static_cast<size_t>(bytes), 64);
  const bool large = buffer.padded_ >= kHugePage;
  size_t unit = large && pages == Pages::kHuge ? kHugePage : kPage;
  size_t usable = RoundUp(buffer.padded_ + kFence, unit);
  buffer.region_bytes_ = kGuard + usable + unit + kGuard;  // a unit more, to align
  void* region = mmap(nullptr, buffer.region_bytes_, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) {
    return ResourceExhausted("no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  buffer.region_ = static_cast<uint8_t*>(region);
  auto start = RoundUp(reinterpret_cast<uintptr_t>(region) + kGuard, unit);
  auto* end = reinterpret_cast<uint8_t*>(start) + usable;
  if (mprotect(reinterpret_cast<void*>(start), usable, PROT_READ | PROT_WRITE) != 0) {
    return ResourceExhausted("no memory for a buffer of " + std::to_string(bytes) + " bytes");
  }
  if (large) {
    madvise(reinterpret_cast<void*>(start), usable,
            unit == kHugePage ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  buffer.data_ = end - buffer.padded_;
  std::memset(buffer.data_ - kFence, kPattern, kFence);
  std::memset(buffer.data_ + bytes, kPattern, buffer.padded_ - static_cast<size_t>(bytes));
  return buffer;
}

bool GuardedBuffer::Intact() const {
  if (data_ == nullptr) return true;
  for (size_t i = 1; i <= kFence; ++i) {
    if (data_[-static_cast<ptrdiff_t>(i)] != kPattern) return false;
  }
  for (size_t i = static_cast<size_t>(bytes_); i < padded_; ++i) {
    if (data_[i] != kPattern) return false;
  }
  return true;
}

}  // namespace temper::runner
