#include "worker/runner/control.h"

#include <chrono>

namespace temper::runner {
namespace {

// Enough independent chains to fill two units of latency 4 to 5.
constexpr int kChains = 12;
constexpr double kSeconds = 50e-6;

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

// A macro, because a target attribute cannot be a template's argument. One block of assembly an
// iteration: written as arithmetic on an array, the compiler keeps the chains in memory, and the
// loop then runs at well under half of the peak.
#define TEMPER_CONTROL_LOOP(name, vector, attributes, code)                                   \
  attributes float name(int64_t iterations, float start) {                                    \
    vector a[kChains];                                                                        \
    for (int i = 0; i < kChains; ++i) a[i] = vector{} + (start + static_cast<float>(i));      \
    vector m = vector{} + 0.999f, b = vector{} + 0.001f;                                      \
    for (int64_t n = 0; n < iterations; ++n) {                                                \
      asm volatile(code                                                                       \
                   : "+v"(a[0]), "+v"(a[1]), "+v"(a[2]), "+v"(a[3]), "+v"(a[4]), "+v"(a[5]),  \
                     "+v"(a[6]), "+v"(a[7]), "+v"(a[8]), "+v"(a[9]), "+v"(a[10]), "+v"(a[11]) \
                   : [m] "v"(m), [b] "v"(b));                                                 \
    }                                                                                         \
    vector sum = a[0];                                                                        \
    for (int i = 1; i < kChains; ++i) sum += a[i];                                            \
    return sum[0];                                                                            \
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
  for (int i = 0; i < 20; ++i) fastest = fastest < Run() ? fastest : Run();
  iterations_ = static_cast<int64_t>(1000 * kSeconds / fastest) + 1;
  flops_ = 2.0 * kChains * lanes * static_cast<double>(iterations_);
}

double ControlKernel::Run() {
  auto start = std::chrono::steady_clock::now();
  sink_ += loop_(iterations_, 1.0f);
  return Since(start);
}

}  // namespace temper::runner
