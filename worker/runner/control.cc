#include "worker/runner/control.h"

#include <algorithm>
#include <chrono>

namespace temper::runner {
namespace {

// Enough independent chains to fill two units of latency 4 to 5.
constexpr int kChains = 12;  // a0 to a11
constexpr double kSeconds = 50e-6;

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

// A macro, because a target attribute cannot be a template's argument. One block of assembly an
// iteration: written as arithmetic on an array, the compiler keeps the chains in memory, and the
// loop then runs at well under half of the peak.
#define TEMPER_CONTROL_LOOP(name, vector, attributes, code)                                     \
  attributes float name(int64_t iterations, float start) {                                      \
    vector a0 = vector{} + start, a1 = a0 + 1.0f, a2 = a0 + 2.0f, a3 = a0 + 3.0f;               \
    vector a4 = a0 + 4.0f, a5 = a0 + 5.0f, a6 = a0 + 6.0f, a7 = a0 + 7.0f, a8 = a0 + 8.0f;      \
    vector a9 = a0 + 9.0f, a10 = a0 + 10.0f, a11 = a0 + 11.0f;                                  \
    vector m = vector{} + 0.999f, b = vector{} + 0.001f;                                        \
    for (int64_t n = 0; n < iterations; ++n) {                                                  \
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
TEMPER_CONTROL_LOOP(Loop128, Vector4, __attribute__((noinline)),
                    TEMPER_TWELVE(TEMPER_MUL) TEMPER_TWELVE(TEMPER_ADD))
TEMPER_CONTROL_LOOP(Loop256, Vector8, TEMPER_TARGET("avx2,fma"), TEMPER_TWELVE(TEMPER_FMA))
TEMPER_CONTROL_LOOP(Loop512, Vector16, TEMPER_TARGET("avx512f"), TEMPER_TWELVE(TEMPER_FMA))
#undef TEMPER_TARGET
#undef TEMPER_ADD
#undef TEMPER_MUL
#undef TEMPER_FMA
#undef TEMPER_TWELVE
#undef TEMPER_CONTROL_LOOP

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ControlKernel::ControlKernel() {
  int lanes = 4;
  loop_ = Loop128;
  if (__builtin_cpu_supports("avx512f") != 0) {
    lanes = 16;
    loop_ = Loop512;
  } else if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    lanes = 8;
    loop_ = Loop256;
  }
  iterations_ = 1000;
  double fastest = 1;
  for (int i = 0; i < 20; ++i) fastest = std::min(fastest, Run());
  iterations_ = static_cast<int64_t>(1000 * kSeconds / fastest) + 1;
  flops_ = 2.0 * kChains * lanes * static_cast<double>(iterations_);
}

double ControlKernel::Run() {
  auto start = std::chrono::steady_clock::now();
  sink_ += loop_(iterations_, 1.0f);
  return Since(start);
}

}  // namespace temper::runner
