#include "worker/runner/control.h"

#include <algorithm>
#include <chrono>

namespace temper::runner {
namespace {

constexpr double kSeconds = 50e-6;

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ControlKernel::ControlKernel() : loop_(MakePeakLoop()) {
  rounds_ = 1000;
  double fastest = 1;
  for (int i = 0; i < 20; ++i) fastest = std::min(fastest, Run());
  rounds_ = static_cast<int64_t>(1000 * kSeconds / fastest) + 1;
}

double ControlKernel::Run() {
  auto start = std::chrono::steady_clock::now();
  sink_ += loop_.run(rounds_);
  return Since(start);
}

}  // namespace temper::runner
