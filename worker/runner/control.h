// The control kernel: a fixed amount of fused multiply-adds in registers, the same in every process
// on a machine, timed in turns with candidates. Its rate is the peak of the core at that moment.
#pragma once

#include <cstdint>

#include "compiler/target/peak_loop.h"

namespace temper::runner {

class ControlKernel {
 public:
  // With the widest vectors this core has.
  ControlKernel();

  // Seconds of one run, some fifty microseconds.
  double Run();
  // Of one run; a multiply-add counts two.
  double flops() const { return loop_.flops * static_cast<double>(rounds_); }

 private:
  PeakLoop loop_;
  int64_t rounds_ = 0;
  float sink_ = 0;  // keeps the result alive
};

}  // namespace temper::runner
