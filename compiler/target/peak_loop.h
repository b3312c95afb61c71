// A loop of independent fused multiply-adds in registers: its rate is the peak of the core that
// runs it, at that moment. What kernels are timed against in turns, because a core's speed drifts.
#pragma once

#include <cstdint>

namespace temper {

struct PeakLoop {
  // Runs `rounds` rounds on the calling thread. The result depends on all of them.
  float (*run)(int64_t rounds) = nullptr;
  double flops = 0;  // of one round, in float32; a multiply-add counts two
  int vector_bits = 0;
};

// The widest loop that this CPU and its system allow, of at most `vector_bits` bits. Without fused
// multiply-adds: of as many multiplications and additions.
PeakLoop MakePeakLoop(int vector_bits = 512);

// 10^9 float32 operations a second of that loop, running for about `seconds`.
double PeakGflops(double seconds, int vector_bits = 512);

}  // namespace temper
