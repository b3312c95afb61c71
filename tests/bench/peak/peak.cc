#include "tests/bench/peak/peak.h"

#include <immintrin.h>

#include <chrono>
#include <cstdint>

namespace temper {
namespace {

// Enough independent chains to cover the latency of two units.
constexpr int kChains = 12;

// The loop's body is one block of assembly, so that no compiler reorders, spills or merges it.
#define TEMPER_TWELVE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define TEMPER_CHAIN(n) "vfmadd213ps %[y], %[x], %" #n "\n\t"
#define TEMPER_FMA_LOOP(type, set1)                                                             \
  type a[kChains], x = set1(0.999f), y = set1(0.001f);                                          \
  for (auto& v : a) v = set1(1.0f);                                                             \
  for (int64_t i = 0; i < rounds; ++i) {                                                        \
    __asm__ volatile(TEMPER_TWELVE(TEMPER_CHAIN)                                                \
                     : "+v"(a[0]), "+v"(a[1]), "+v"(a[2]), "+v"(a[3]), "+v"(a[4]), "+v"(a[5]),  \
                       "+v"(a[6]), "+v"(a[7]), "+v"(a[8]), "+v"(a[9]), "+v"(a[10]), "+v"(a[11]) \
                     : [x] "v"(x), [y] "v"(y));                                                 \
  }

__attribute__((target("avx512f"))) void Fma512(int64_t rounds) {
  TEMPER_FMA_LOOP(__m512, _mm512_set1_ps)
}

__attribute__((target("avx2,fma"))) void Fma256(int64_t rounds) {
  TEMPER_FMA_LOOP(__m256, _mm256_set1_ps)
}

// Six chains: sixteen registers must hold them, a product each time and both constants.
void MulAdd128(int64_t rounds) {
  __m128 a0 = _mm_set1_ps(1), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0;
  __m128 x = _mm_set1_ps(0.999f), y = _mm_set1_ps(0.001f);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int half = 0; half < kChains / 6; ++half) {
      __asm__ volatile(
          "mulps %[x], %0\n\tmulps %[x], %1\n\tmulps %[x], %2\n\t"
          "mulps %[x], %3\n\tmulps %[x], %4\n\tmulps %[x], %5\n\t"
          "addps %[y], %0\n\taddps %[y], %1\n\taddps %[y], %2\n\t"
          "addps %[y], %3\n\taddps %[y], %4\n\taddps %[y], %5\n\t"
          : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5)
          : [x] "x"(x), [y] "x"(y));
    }
  }
}

}  // namespace

double PeakGflops(double seconds) {
  using Clock = std::chrono::steady_clock;
  void (*loop)(int64_t) = MulAdd128;
  int lanes = 4;
  if (__builtin_cpu_supports("avx512f")) {
    loop = Fma512;
    lanes = 16;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loop = Fma256;
    lanes = 8;
  }
  constexpr int64_t kRounds = 4096;
  loop(kRounds);  // wakes the wide units
  int64_t rounds = 0;
  auto start = Clock::now();
  double elapsed;
  do {
    loop(kRounds);
    rounds += kRounds;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (elapsed < seconds);
  return 2.0 * kChains * lanes * static_cast<double>(rounds) / elapsed * 1e-9;
}

}  // namespace temper
