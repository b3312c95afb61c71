// The share of the core's multiply-add peak that each kernel of a compiled model reaches, the peak
// loop timed in turns with the model.
//
//   model_share MODEL.so [SECONDS]
//
// One thread. A kernel's time is the median over the runs; its share the median over the turns of
// its rate by the peak of that turn. Over 1 is possible: Winograd and padding skip multiply-adds.
#include <cstdio>
#include <cstdlib>

#include "compiler/target/peak_loop.h"
#include "tests/bench/model/stepped_model.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "model_share: %s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using temper::bench::Median;
  using temper::bench::Now;
  if (argc < 2) return Fail("usage: model_share MODEL.so [SECONDS]");
  double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  temper::bench::SteppedModel model;
  if (const char* wrong = model.Open(argv[1], 1)) return Fail(wrong);
  std::vector<std::vector<double>> times(model.steps()), shares(model.steps());
  std::vector<double> whole, peaks;
  double end = Now() + seconds;
  for (int turn = 0; turn < 3 || Now() < end; ++turn) {
    peaks.push_back(temper::PeakGflops(0.005));
    if (const char* wrong = model.Run(0.02, &times, &whole)) return Fail(wrong);
    for (int s = 0; s < model.steps(); ++s) {
      shares[s].push_back(model.step(s).flops / (times[s].back() * 1e3) / peaks.back());
    }
  }
  std::printf("%9s %9s %7s  %s\n", "us", "GFLOP/s", "share", "nodes");
  for (int s = 0; s < model.steps(); ++s) {
    const temper_step_info& info = model.step(s);
    double t = Median(times[s]);
    std::printf("%9.1f %9.1f %6.1f%%  %s\n", t, info.flops / (t * 1e3), 100 * Median(shares[s]),
                info.nodes);
  }
  std::printf("all %.1f us; peak %.1f GFLOP/s, median of %zu turns\n", Median(whole), Median(peaks),
              peaks.size());
  return 0;
}
