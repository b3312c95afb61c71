// The control kernel: a fixed amount of fused multiply-adds in registers, timed in turns with
// candidates. Its rate is the peak of the core at that moment.
#pragma once

#include <cstdint>

namespace temper::runner {

class ControlKernel {
 public:
  // With the widest vectors this core has.
  ControlKernel();

  // Seconds of one run, some fifty microseconds.
  double Run();
  // Of one run; a multiply-add counts two.
  double flops() const { return flops_; }

 private:
  float (*loop_)(int64_t iterations, float start) = nullptr;
  int64_t iterations_ = 0;
  double flops_ = 0;
  float sink_ = 0;  // keeps the result alive
};

}  // namespace temper::runner
