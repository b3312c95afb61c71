#include "compiler/target/peak_loop.h"

#include <chrono>

namespace temper {
namespace {

// Enough independent chains to fill two units of latency 4 to 5.
constexpr int kChains = 12;  // a0 to a11

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

// A macro, because a target attribute cannot be a template's argument. One block of assembly a
// round: written as arithmetic on an array, the compiler keeps the chains in memory, and the loop
// then runs at well under half of the peak.
#define TEMPER_PEAK_LOOP(name, vector, attributes, code)                                        \
  attributes float name(int64_t rounds) {                                                       \
    vector a0 = vector{} + 1.0f, a1 = a0 + 1.0f, a2 = a0 + 2.0f, a3 = a0 + 3.0f;                \
    vector a4 = a0 + 4.0f, a5 = a0 + 5.0f, a6 = a0 + 6.0f, a7 = a0 + 7.0f, a8 = a0 + 8.0f;      \
    vector a9 = a0 + 9.0f, a10 = a0 + 10.0f, a11 = a0 + 11.0f;                                  \
    vector m = vector{} + 0.999f, b = vector{} + 0.001f;                                        \
    for (int64_t n = 0; n < rounds; ++n) {                                                      \
      asm volatile(code                                                                         \
                   : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6),      \
                     "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11)                         \
                   : [m] "v"(m), [b] "v"(b));                                                   \
    }                                                                                           \
    vector sum = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + ((a8 + a9) + (a10 + a11)); \
    return sum[0];                                                                              \
  }

#define TEMPER_TWELVE(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define TEMPER_FMA(n) "vfmadd213ps %[b], %[m], %" #n "\n\t"
#define TEMPER_MUL(n) "mulps %[m], %" #n "\n\t"
#define TEMPER_ADD(n) "addps %[b], %" #n "\n\t"
#define TEMPER_TARGET(features) __attribute__((target(features), noinline))
TEMPER_PEAK_LOOP(Loop128, Vector4, __attribute__((noinline)),
                 TEMPER_TWELVE(TEMPER_MUL) TEMPER_TWELVE(TEMPER_ADD))
TEMPER_PEAK_LOOP(Loop256, Vector8, TEMPER_TARGET("avx2,fma"), TEMPER_TWELVE(TEMPER_FMA))
TEMPER_PEAK_LOOP(Loop512, Vector16, TEMPER_TARGET("avx512f"), TEMPER_TWELVE(TEMPER_FMA))
#undef TEMPER_TARGET
#undef TEMPER_ADD
#undef TEMPER_MUL
#undef TEMPER_FMA
#undef TEMPER_TWELVE
#undef TEMPER_PEAK_LOOP

PeakLoop Of(float (*run)(int64_t), int vector_bits) {
  return {run, 2.0 * kChains * vector_bits / 32, vector_bits};
}

}  // namespace

PeakLoop MakePeakLoop(int vector_bits) {
  if (vector_bits >= 512 && __builtin_cpu_supports("avx512f") != 0) return Of(Loop512, 512);
  const bool fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (vector_bits >= 256 && fma) return Of(Loop256, 256);
  return Of(Loop128, 128);
}

double PeakGflops(double seconds, int vector_bits) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 4096;
  const PeakLoop loop = MakePeakLoop(vector_bits);
  volatile float sink = loop.run(kRounds);  // wakes the wide units
  int64_t rounds = 0;
  const auto start = Clock::now();
  double elapsed;
  do {
    sink = loop.run(kRounds);
    rounds += kRounds;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (elapsed < seconds);
  static_cast<void>(sink);
  return loop.flops * static_cast<double>(rounds) / elapsed * 1e-9;
}

}  // namespace temper
