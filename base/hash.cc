#include "base/hash.h"

#include <openssl/evp.h>

namespace temper {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Hash::Hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Hash::ShortHex() const { return Hex().substr(0, 12); }

Result<Hash> Hash::FromHex(std::string_view hex) {
  Hash hash;
  if (hex.size() != 2 * hash.bytes.size()) {
    return InvalidArgument("a hash has 64 hex digits, this one has " + std::to_string(hex.size()) +
                           " characters");
  }
  for (size_t i = 0; i < hash.bytes.size(); ++i) {
    int high = HexDigit(hex[2 * i]);
    int low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return InvalidArgument("a hash has hex digits only");
    hash.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return hash;
}

Result<Hash> Hash::FromBytes(std::string_view bytes) {
  Hash hash;
  if (bytes.size() != hash.bytes.size()) {
    return InvalidArgument("a hash has 32 bytes, this one has " + std::to_string(bytes.size()));
  }
  std::memcpy(hash.bytes.data(), bytes.data(), bytes.size());
  return hash;
}

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() {
    TEMPER_CHECK(context != nullptr);
    Restart();
  }
  ~State() { EVP_MD_CTX_free(context); }
  void Restart() { TEMPER_CHECK(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::Update(std::string_view bytes) {
  TEMPER_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}

Hasher& Hasher::AddU64(uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return Update({bytes, sizeof(bytes)});
}

Hasher& Hasher::AddString(std::string_view text) { return AddU64(text.size()).Update(text); }

Hash Hasher::Finish() {
  Hash hash;
  unsigned int size = 0;
  TEMPER_CHECK(EVP_DigestFinal_ex(state_->context, hash.bytes.data(), &size) == 1);
  TEMPER_CHECK(size == hash.bytes.size());
  state_->Restart();
  return hash;
}

Hash Sha256(std::string_view bytes) { return Hasher().Update(bytes).Finish(); }

}  // namespace temper
