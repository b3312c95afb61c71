#include "compiler/target/machine_rates.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace temper {
namespace {

constexpr int kMostThreads = 256;
constexpr double kQuick = 0.8;  // of the pieces, the slowest first
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

void ReadBaseline(const char* from, char*, size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLineBytes) {
    asm volatile(
        "movups (%0), %%xmm0\n\tmovups 16(%0), %%xmm1\n\t"
        "movups 32(%0), %%xmm2\n\tmovups 48(%0), %%xmm3"
        :
        : "r"(from)
        : "xmm0", "xmm1", "xmm2", "xmm3");
  }
}

__attribute__((target("avx512f"))) void ReadAvx512(const char* from, char*, size_t lines) {
  for (size_t i = 0; i < lines; ++i, from += kLineBytes) {
    asm volatile("vmovups (%0), %%zmm0" : : "r"(from) : "xmm0");
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

// The rate of pieces of work that are done for about `seconds`, at `quantile` of the pieces, the
// slowest first; at 0.5 a piece during which another program had the core does not count. `work`
// returns how much it did.
double PieceRate(double seconds, double quantile, const Clock& clock,
                 const std::function<double()>& work) {
  std::vector<double> rates;
  const double end = clock.NowSeconds() + seconds;
  double start = clock.NowSeconds();
  while (rates.empty() || start < end) {
    const double amount = work();
    const double now = clock.NowSeconds();
    rates.push_back(amount / (now - start) * 1e-9);
    start = now;
  }
  const auto at = static_cast<size_t>(quantile * static_cast<double>(rates.size()));
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(at), rates.end());
  return rates[at];
}

// The time in which another core sees what this one wrote and answers; the quickest of many short
// tries, since on a busy machine both threads run at the same time for moments only.
double HandoffSeconds(const Clock& clock) {
  constexpr int kRounds = 20, kTries = 100;
  std::atomic<int> ball{0};
  // Even numbers are this thread's to raise, odd ones the other's. Where both share a core the
  // waiting one gives way.
  auto wait = [&ball](int until) {
    for (int spins = 0; ball.load(std::memory_order_acquire) != until; ++spins) {
      if (spins > 10'000) std::this_thread::yield();
    }
  };
  std::thread other([&] {
    for (int i = 0; i < kRounds * kTries; ++i) {
      wait(2 * i + 1);
      ball.store(2 * i + 2, std::memory_order_release);
    }
  });
  double best = 1;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double start = clock.NowSeconds();
    for (int i = attempt * kRounds; i < (attempt + 1) * kRounds; ++i) {
      ball.store(2 * i + 1, std::memory_order_release);
      wait(2 * i + 2);
    }
    best = std::min(best, (clock.NowSeconds() - start) / kRounds);
  }
  other.join();
  return best;
}

char* FirstLine(std::vector<char>& buffer) {
  const auto address = reinterpret_cast<uintptr_t>(buffer.data());
  return buffer.data() + (kLineBytes - address % kLineBytes) % kLineBytes;
}

}  // namespace

Level LevelOf(const Target& machine, int threads, double bytes) {
  if (bytes <= static_cast<double>(machine.l1_bytes) * threads) return Level::kL1;
  if (bytes <= static_cast<double>(machine.l2_bytes) * threads) return Level::kL2;
  return bytes <= static_cast<double>(machine.l3_bytes) ? Level::kL3 : Level::kMemory;
}

PeakMeter::PeakMeter(int threads, const Clock& clock, int vector_bits)
    : threads_(threads), loop_(MakePeakLoop(vector_bits)), clock_(clock) {}

double PeakMeter::Measure(double seconds, double quantile) const {
  return OnThreads(threads_, [&](int) {
    volatile float sink = loop_.run(kPeakRounds);  // wakes the wide units
    const double rate = PieceRate(seconds, quantile, clock_, [&] {
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

double RateMeter::Move(Level level, Traffic traffic, double seconds) {
  const size_t bytes = bytes_[static_cast<size_t>(level)];
  const bool wide = __builtin_cpu_supports("avx512f") != 0, reads = traffic == Traffic::kRead;
  const auto copy = reads ? (wide ? ReadAvx512 : ReadBaseline) : (wide ? CopyAvx512 : CopyBaseline);
  return OnThreads(threads_, [&](int t) {
    char* base = FirstLine(buffers_[t]);
    const size_t half = reads ? bytes : bytes / 2, lines = half / kLineBytes;
    const bool near = level != Level::kMemory;
    if (near) copy(base, base + half, lines);  // brings them there
    // Pieces of about a megabyte.
    const size_t repeats = std::max<size_t>(1, kPieceLines / lines);
    size_t at = 0;
    return PieceRate(seconds, quantile_, clock_, [&] {
      const size_t count = std::min(kPieceLines, lines - at);
      for (size_t r = 0; r < repeats; ++r) {
        copy(base + at * kLineBytes, base + half + at * kLineBytes, count);
      }
      at = at + count < lines ? at + count : 0;
      return (reads ? 1.0 : 2.0) * static_cast<double>(count * repeats * kLineBytes);
    });
  });
}

MachineRates RateMeter::Measure() {
  MachineRates rates;
  quantile_ = 0.5;
  for (int i = 0; i < kLevels; ++i) {
    rates.gbytes[i] = Move(static_cast<Level>(i), Traffic::kCopy, 0.003);
  }
  rates.gflops = peak_.Measure(0.003, quantile_);
  return rates;
}

double RateMeter::MeasureCopy(double bytes) {
  constexpr double kSeconds = 0.0005;
  // Loads do not wait for a store to the same place of another page.
  constexpr size_t kApart = 33 * kLineBytes;
  const auto lines = std::max<size_t>(static_cast<size_t>(bytes / threads_ / 2) / kLineBytes, 1);
  const auto copy = __builtin_cpu_supports("avx512f") != 0 ? CopyAvx512 : CopyBaseline;
  return OnThreads(threads_, [&](int) {
    std::vector<char> from((lines + 1) * kLineBytes, 1);
    std::vector<char> to((lines + 1) * kLineBytes + kApart, 1);
    const char* source = FirstLine(from);
    char* result = FirstLine(to) + kApart;
    copy(source, result, lines);
    const size_t repeats = std::max<size_t>(1, kPieceLines / 16 / lines);
    return PieceRate(kSeconds, 0.5, clock_, [&] {
      for (size_t r = 0; r < repeats; ++r) copy(source, result, lines);
      return 2.0 * static_cast<double>(lines * repeats * kLineBytes);
    });
  });
}

MachineRates RateMeter::MeasureReads() {
  MachineRates rates;
  quantile_ = kQuick;
  for (int i = 0; i < kLevels; ++i) {
    rates.gbytes[i] = Move(static_cast<Level>(i), Traffic::kRead, 0.006);
  }
  rates.gflops = peak_.Measure(0.006, quantile_);
  return rates;
}

Rates MeasureRates(const Target& machine, const Clock& clock) {
  // Another program only ever slows a measurement down, so that the best of several tells most.
  constexpr int kTries = 3;
  constexpr double kMostHandoffSeconds = 1e-6;  // longer only where the threads share a core
  Rates rates;
  rates.cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  MachineRates one, all;
  auto raise = [](MachineRates* best, const MachineRates& measured) {
    best->gflops = std::max(best->gflops, measured.gflops);
    for (int i = 0; i < kLevels; ++i) {
      best->gbytes[i] = std::max(best->gbytes[i], measured.gbytes[i]);
    }
  };
  double handoff = kMostHandoffSeconds;
  {  // one meter at a time: each holds several times the last-level cache
    RateMeter alone(machine, 1, machine.vector_bits, clock);
    for (int i = 0; i < kTries; ++i) raise(&one, alone.MeasureReads());
  }
  if (rates.cores > 1) {
    RateMeter together(machine, rates.cores, machine.vector_bits, clock);
    for (int i = 0; i < kTries; ++i) {
      raise(&all, together.MeasureReads());
      handoff = std::min(handoff, HandoffSeconds(clock));
    }
  }
  // A core alone is no slower than its share beside others, and all together no slower than one.
  auto whole = [&](double core, double of_all) {
    core = std::max(core, of_all / rates.cores);
    return Rates::Rate{std::max(1, static_cast<int>(core + 0.5)),
                       std::max(1, static_cast<int>(std::max(core, of_all) + 0.5))};
  };
  rates.gflops = whole(one.gflops, all.gflops);
  for (int i = 0; i < kLevels; ++i) rates.gbytes[i] = whole(one.gbytes[i], all.gbytes[i]);
  rates.handoff_ns = std::max(1, static_cast<int>(handoff * 1e9));
  return rates;
}

}  // namespace temper
