// SHA-256 digests: the identity of workloads, schedules and artifacts on every platform.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace temper {

// A SHA-256 digest. The default value (all zero) stands for "none". Orders by bytes.
struct Hash {
  std::array<uint8_t, 32> bytes{};

  bool IsZero() const { return *this == Hash{}; }

  // 64 lower-case hex digits.
  std::string Hex() const;
  // The first 12 of them: for people, never as a key.
  std::string ShortHex() const;
  // The 32 bytes as they are.
  std::string_view AsBytes() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Exactly 64 hex digits of either case; INVALID_ARGUMENT otherwise.
  static Result<Hash> FromHex(std::string_view hex);
  // Exactly 32 bytes; INVALID_ARGUMENT otherwise.
  static Result<Hash> FromBytes(std::string_view bytes);

  auto operator<=>(const Hash&) const = default;
};

// Hashes what it is given piece by piece. Update() joins its pieces: where their borders matter
// use the typed calls, which are self-delimiting. Not thread-safe.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& Update(std::string_view bytes);
  Hasher& AddU64(uint64_t value);            // eight bytes, little-endian
  Hasher& AddString(std::string_view text);  // its length as by AddU64, then its bytes

  // The digest of everything so far; the hasher is then empty again.
  Hash Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Hash Sha256(std::string_view bytes);

}  // namespace temper

template <>
struct std::hash<temper::Hash> {
  size_t operator()(const temper::Hash& h) const noexcept {
    size_t value;
    std::memcpy(&value, h.bytes.data(), sizeof(value));
    return value;
  }
};
