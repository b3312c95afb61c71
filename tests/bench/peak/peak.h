// The core's multiply-add peak: the control that kernels are timed against in turns, because a
// core's speed drifts.
#pragma once

namespace temper {

// float32 operations a second (a multiply-add counts two), in 10^9, of a loop of independent fused
// multiply-adds in registers, as wide as the CPU and its operating system allow, that runs on the
// calling thread for about `seconds`. Without FMA: of separate multiplications and additions.
double PeakGflops(double seconds);

}  // namespace temper
