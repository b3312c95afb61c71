// The fuzzer's bytes as a stream of choices; zeros past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace temper::fuzz {

class InputBytes {
 public:
  InputBytes(const uint8_t* data, size_t size) : bytes_(data, size) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  // In [0, n). REQUIRES: 0 < n <= 65536.
  size_t Below(size_t n) {
    const size_t low = Byte();
    return (n > 256 ? low | static_cast<size_t>(Byte()) << 8 : low) % n;
  }
  template <typename T, size_t N>
  const T& Pick(const T (&all)[N]) {
    return all[Below(N)];
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace temper::fuzz
