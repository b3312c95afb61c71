#include "worker/runner/cold_constants.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace temper::runner {

std::vector<std::pair<const void*, int64_t>> ColdConstants(const Candidate& kernel,
                                                           const std::vector<void*>& args) {
  std::vector<std::pair<const void*, int64_t>> cold;
  for (int i = 0; i < kernel.info().arg_count; ++i) {
    int64_t bytes = kernel.layouts()[static_cast<size_t>(i)].bytes;
    if (kernel.info().args[i].role == TEMPER_ARG_CONSTANT && bytes >= kColdBytes) {
      cold.emplace_back(args[static_cast<size_t>(i)], bytes);
    }
  }
  return cold;
}

#if defined(__x86_64__)

namespace {

constexpr int64_t kLine = 64;

bool HasClflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1) != 0;
}

__attribute__((target("clflushopt"))) void EvictUnordered(const char* p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kLine) _mm_clflushopt(const_cast<char*>(p + i));
  _mm_mfence();
}

}  // namespace

void Evict(const void* data, int64_t bytes) {
  const char* p = static_cast<const char*>(data);
  static const bool unordered = HasClflushopt();
  if (unordered) {
    EvictUnordered(p, bytes);
    return;
  }
  for (int64_t i = 0; i < bytes; i += kLine) _mm_clflush(p + i);
  _mm_mfence();
}

#else

void Evict(const void*, int64_t) {}

#endif

}  // namespace temper::runner
