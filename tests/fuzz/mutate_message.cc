// libFuzzer's hooks for targets whose input is a message (FUZZ_PREFIX bytes and then a message).
#include <algorithm>
#include <cstring>

#include "tests/fuzz/wire_mutator.h"

#ifndef FUZZ_PREFIX
#define FUZZ_PREFIX 0
#endif

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

void MutateLeaf(std::string& bytes, std::mt19937_64& random) {
  const size_t size = bytes.size();
  const size_t most = size + 1 + random() % 16;
  bytes.resize(most);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, most));
}

size_t Put(const std::string& from, uint8_t* to, size_t max_size) {
  const size_t size = std::min(from.size(), max_size);
  std::memcpy(to, from.data(), size);
  return size;
}

std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937_64 random(seed);
  if (size < FUZZ_PREFIX || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string changed =
      temper::fuzz::MutateMessage(View(data + FUZZ_PREFIX, size - FUZZ_PREFIX), random, MutateLeaf);
  return FUZZ_PREFIX + Put(changed, data + FUZZ_PREFIX, max_size - FUZZ_PREFIX);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t max_size,
                                            unsigned seed) {
  if (a_size < FUZZ_PREFIX || b_size < FUZZ_PREFIX) return 0;
  std::mt19937_64 random(seed);
  std::string crossed(View(a, FUZZ_PREFIX));
  crossed += temper::fuzz::CrossMessages(View(a + FUZZ_PREFIX, a_size - FUZZ_PREFIX),
                                         View(b + FUZZ_PREFIX, b_size - FUZZ_PREFIX), random);
  return Put(crossed, out, max_size);
}
