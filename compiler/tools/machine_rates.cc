#include "compiler/tools/machine_rates.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

namespace temper::tools {
namespace {

constexpr int64_t kPeakRounds = 4096;
constexpr size_t kLineBytes = 64;  // of what is copied at a time
constexpr size_t kPieceLines = 16384;
constexpr int64_t kMostBytes = int64_t{256} << 20;

// Copies lines one after another with ordinary loads and stores; memcpy would go past the caches.
void CopyBaseline(const char* from, char* to, size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLineBytes, to += kLineBytes) {
    asm volatile(
        "movups (%0), %%xmm0\n\tmovups 16(%0), %%xmm1\n\t"
        "movups 32(%0), %%xmm2\n\tmovups 48(%0), %%xmm3\n\t"
        "movups %%xmm0, (%1)\n\tmovups %%xmm1, 16(%1)\n\t"
        "movups %%xmm2, 32(%1)\n\tmovups %%xmm3, 48(%1)"
        :
        : "r"(from), "r"(to)
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
}

__attribute__((target("avx512f"))) void CopyAvx512(const char* from, char* to, size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLineBytes, to += kLineBytes) {
    asm volatile("vmovups (%0), %%zmm0\n\tvmovups %%zmm0, (%1)"
                 :
                 : "r"(from), "r"(to)
                 : "xmm0", "memory");
  }
}

// The sum of what `work` returns on each of `threads` threads at the same time.
double OnThreads(int threads, const std::function<double(int)>& work) {
  std::vector<double> results(threads);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { results[t] = work(t); });
  results[0] = work(0);
  for (std::thread& other : others) other.join();
  return std::accumulate(results.begin(), results.end(), 0.0);
}

// The median rate of pieces of work that are done for about `seconds`: a piece during which another
// program had the core does not count. `work` returns how much it did.
double MedianRate(double seconds, const Clock& clock, const std::function<double()>& work) {
  std::vector<double> rates;
  const double end = clock.NowSeconds() + seconds;
  double start = clock.NowSeconds();
  while (rates.empty() || start < end) {
    const double amount = work();
    const double now = clock.NowSeconds();
    rates.push_back(amount / (now - start) * 1e-9);
    start = now;
  }
  std::nth_element(rates.begin(), rates.begin() + rates.size() / 2, rates.end());
  return rates[rates.size() / 2];
}

}  // namespace

std::string_view LevelName(Level level) {
  constexpr std::array<std::string_view, kLevels> kNames = {"L1", "L2", "L3", "memory"};
  return kNames[static_cast<size_t>(level)];
}

Level LevelOf(const Target& machine, int threads, double bytes) {
  if (bytes <= static_cast<double>(machine.l1_bytes) * threads) return Level::kL1;
  if (bytes <= static_cast<double>(machine.l2_bytes) * threads) return Level::kL2;
  return bytes <= static_cast<double>(machine.l3_bytes) ? Level::kL3 : Level::kMemory;
}

PeakMeter::PeakMeter(int threads, const Clock& clock, int vector_bits)
    : threads_(threads), loop_(MakePeakLoop(vector_bits)), clock_(clock) {}

double PeakMeter::Measure(double seconds) const {
  return OnThreads(threads_, [&](int) {
    volatile float sink = loop_.run(kPeakRounds);  // wakes the wide units
    const double rate = MedianRate(seconds, clock_, [&] {
      sink = loop_.run(kPeakRounds);
      return loop_.flops * static_cast<double>(kPeakRounds);
    });
    static_cast<void>(sink);
    return rate;
  });
}

RateMeter::RateMeter(const Target& machine, int threads, int vector_bits, const Clock& clock)
    : threads_(threads), peak_(threads, clock, vector_bits), clock_(clock), buffers_(threads) {
  const int64_t l3 = std::max(machine.l3_bytes, machine.l2_bytes);
  const int64_t whole[kLevels] = {machine.l1_bytes / 2 * threads, machine.l2_bytes / 2 * threads,
                                  l3 / 2, std::min(4 * l3, kMostBytes)};
  for (int i = 0; i < kLevels; ++i) {
    const auto each = static_cast<size_t>(std::max<int64_t>(whole[i] / threads, 8192));
    bytes_[i] = each / (2 * kLineBytes) * (2 * kLineBytes);
  }
  const size_t most = *std::max_element(bytes_.begin(), bytes_.end());
  for (auto& buffer : buffers_) buffer.assign(most + kLineBytes, 1);
}

double RateMeter::Copy(Level level, double seconds) {
  const size_t bytes = bytes_[static_cast<size_t>(level)];
  const auto copy = __builtin_cpu_supports("avx512f") != 0 ? CopyAvx512 : CopyBaseline;
  return OnThreads(threads_, [&](int t) {
    char* base = buffers_[t].data();
    base += (kLineBytes - reinterpret_cast<uintptr_t>(base) % kLineBytes) % kLineBytes;
    const size_t half = bytes / 2, lines = half / kLineBytes;
    const bool near = level != Level::kMemory;
    if (near) copy(base, base + half, lines);  // brings them there
    // Pieces of about a megabyte.
    const size_t repeats = std::max<size_t>(1, kPieceLines / lines);
    size_t at = 0;
    return MedianRate(seconds, clock_, [&] {
      const size_t count = std::min(kPieceLines, lines - at);
      for (size_t r = 0; r < repeats; ++r) {
        copy(base + at * kLineBytes, base + half + at * kLineBytes, count);
      }
      at = at + count < lines ? at + count : 0;
      return 2.0 * static_cast<double>(count * repeats * kLineBytes);
    });
  });
}

MachineRates RateMeter::Measure() {
  MachineRates rates;
  for (int i = 0; i < kLevels; ++i) rates.gbytes[i] = Copy(static_cast<Level>(i), 0.003);
  rates.gflops = peak_.Measure(0.003);
  return rates;
}

}  // namespace temper::tools
