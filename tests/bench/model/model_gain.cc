// What more threads gain, kernel by kernel, beside what as many peak loops side by side gain.
//
//   model_gain ONE.so MANY.so [THREADS] [SECONDS] [MFLOP]
//
// ONE.so is compiled with --threads 1, MANY.so with --threads THREADS (2). In turns: the model on
// one thread, on all, a peak loop on one, on all. Lists kernels of at least MFLOP (50) million
// operations that both models have; a gain is the median over the turns, `share` that of the
// gain by the peak loops' gain of its turn, the quicker of the loops before and after the model on
// as many threads: what another program takes from them would flatter the kernels.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "compiler/target/peak_loop.h"
#include "tests/bench/model/stepped_model.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "model_gain: %s\n", what);
  return 1;
}

double PeakOf(int threads) {
  std::vector<double> rates(threads);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&rates, t] { rates[t] = temper::PeakGflops(0.005); });
  }
  rates[0] = temper::PeakGflops(0.005);
  for (std::thread& other : others) other.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

int main(int argc, char** argv) {
  using temper::bench::Median;
  using temper::bench::Now;
  if (argc < 3) return Fail("usage: model_gain ONE.so MANY.so [THREADS] [SECONDS] [MFLOP]");
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  const double seconds = argc > 4 ? std::atof(argv[4]) : 2;
  const double least = (argc > 5 ? std::atof(argv[5]) : 50) * 1e6;
  if (threads < 2) return Fail("THREADS is 2 or more");
  temper::bench::SteppedModel one, many;
  if (const char* wrong = one.Open(argv[1], 1)) return Fail(wrong);
  if (const char* wrong = many.Open(argv[2], threads)) return Fail(wrong);
  // Kernels of both models in order, by their workloads: fusion may differ with the threads.
  std::vector<std::pair<int, int>> both;
  for (int s = 0, from = 0; s < one.steps(); ++s) {
    int m = from;
    while (m < many.steps() && std::strcmp(one.step(s).workload, many.step(m).workload) != 0) ++m;
    if (m == many.steps()) continue;
    both.emplace_back(s, m);
    from = m + 1;
  }
  std::vector<std::vector<double>> alone(one.steps()), together(many.steps()), shares(one.steps());
  std::vector<double> whole_alone, whole_together, peak_gains;
  const double end = Now() + seconds;
  for (int turn = 0; turn < 3 || Now() < end; ++turn) {
    double peak = PeakOf(1);
    if (const char* wrong = one.Run(0.02, &alone, &whole_alone)) return Fail(wrong);
    peak = std::max(peak, PeakOf(1));
    double peaks = PeakOf(threads);
    if (const char* wrong = many.Run(0.02, &together, &whole_together)) return Fail(wrong);
    peaks = std::max(peaks, PeakOf(threads));
    peak_gains.push_back(peaks / peak);
    for (const auto& [s, m] : both) {
      shares[s].push_back(alone[s].back() / together[m].back() / peak_gains.back());
    }
  }
  std::printf("%9s %9s %6s %7s  %s\n", "one, us", "all, us", "gain", "share", "nodes");
  double logs = 0;
  int listed = 0;
  for (const auto& [s, m] : both) {
    if (one.step(s).flops < least) continue;
    const double a = Median(alone[s]), b = Median(together[m]), share = Median(shares[s]);
    std::printf("%9.1f %9.1f %6.3f %6.1f%%  %s\n", a, b, a / b, 100 * share, one.step(s).nodes);
    logs += std::log(share);
    ++listed;
  }
  const double a = Median(whole_alone), b = Median(whole_together);
  std::printf("all kernels %.1f and %.1f us, gain %.3f; peak loops gain %.3f, median of %zu turns",
              a, b, a / b, Median(peak_gains), peak_gains.size());
  if (listed > 0) std::printf("; mean share of it %.1f%%", 100 * std::exp(logs / listed));
  std::printf("\n");
  return 0;
}
