#include "worker/runner/control.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace temper::runner {
namespace {

// Of one run, and so of every run of every process: times of the control can be compared between
// them. Some fifty microseconds on a core of 2 x 512 bits at 4 GHz; narrower vectors do less.
constexpr double kFlopsOfABit = 14e6 / 512;

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ControlKernel::ControlKernel() : loop_(MakePeakLoop()) {
  rounds_ = std::max<int64_t>(1, std::llround(kFlopsOfABit * loop_.vector_bits / loop_.flops));
}

double ControlKernel::Run() {
  auto start = std::chrono::steady_clock::now();
  sink_ += loop_.run(rounds_);
  return Since(start);
}

}  // namespace temper::runner
