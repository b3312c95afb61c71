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

// A macro, because a target attribute cannot be a template's argument.
#define TEMPER_CONTROL_LOOP(name, vector, target_attribute)                                     \
  target_attribute float name(int64_t iterations, float start) {                                \
    vector a[kChains];                                                                          \
    for (int i = 0; i < kChains; ++i) a[i] = vector{} + (start + static_cast<float>(i));        \
    vector m = vector{} + 0.999f, b = vector{} + 0.001f;                                        \
    for (int64_t n = 0; n < iterations; ++n) {                                                  \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) a[i] = a[i] * m + b;           \
      /* The values are needed in registers here: nothing is folded across iterations. */       \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) asm volatile("" : "+v"(a[i])); \
    }                                                                                           \
    vector sum = a[0];                                                                          \
    for (int i = 1; i < kChains; ++i) sum += a[i];                                              \
    return sum[0];                                                                              \
  }

#define TEMPER_TARGET(features) __attribute__((target(features), noinline))
TEMPER_CONTROL_LOOP(Loop128, Vector4, __attribute__((noinline)))
TEMPER_CONTROL_LOOP(Loop256, Vector8, TEMPER_TARGET("avx2,fma"))
TEMPER_CONTROL_LOOP(Loop512, Vector16, TEMPER_TARGET("avx512f"))
#undef TEMPER_TARGET
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
