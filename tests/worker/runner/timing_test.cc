#include "worker/runner/timing.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace temper::runner {
namespace {

// A kernel that takes `us` a run, give or take, and counts its runs.
struct MadeUp {
  double us;
  double noise = 0;
  int calls = 0;
  int runs = 0;
  Rng rng{1};

  std::function<double(int)> Function() {
    return [this](int n) {
      ++calls;
      runs += n;
      return us * 1e-6 * n * (1 + noise * (rng.Uniform01() - 0.5));
    };
  }
};

TimingOptions WithControl(double reference = 50e-6) {
  TimingOptions options;
  options.control_reference_seconds = reference;
  return options;
}

TEST(Timing, AQuietKernelNeedsFewSamplesOfReasonableLength) {
  MadeUp kernel{30};
  auto results = TimeInTurns({kernel.Function()}, [] { return 50e-6; }, WithControl());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].median_us, 30, 1e-6);
  EXPECT_EQ(results[0].samples.size(), 5u);
  EXPECT_EQ(kernel.runs, 1 + 5 * 7);
  EXPECT_NEAR(results[0].drift, 1, 1e-9);
  EXPECT_FALSE(results[0].stopped_early || results[0].too_noisy);
}

TEST(Timing, NoiseIsAnsweredWithMoreSamplesWithinTheBudget) {
  MadeUp kernel{200, 0.3};
  auto results = TimeInTurns({kernel.Function()}, [] { return 50e-6; }, WithControl());
  EXPECT_GT(results[0].samples.size(), 10u);
  EXPECT_LT(kernel.runs * 200e-6, 2 * 0.012);
  EXPECT_NEAR(results[0].median_us, 200, 20);
}

TEST(Timing, AKernelThatCannotWinIsStopped) {
  TimingOptions options = WithControl();
  options.incumbent_us = 100;
  MadeUp far{500}, near{120, 0.02}, rival{105, 0.02};
  auto results = TimeInTurns({far.Function()}, [] { return 50e-6; }, options);
  EXPECT_TRUE(results[0].stopped_early);
  EXPECT_EQ(results[0].samples.size(), 1u);
  results = TimeInTurns({near.Function()}, [] { return 50e-6; }, options);
  EXPECT_TRUE(results[0].stopped_early);
  EXPECT_EQ(results[0].samples.size(), 3u);
  results = TimeInTurns({rival.Function()}, [] { return 50e-6; }, options);
  EXPECT_FALSE(results[0].stopped_early);
  options.precise = true;
  results = TimeInTurns({far.Function()}, [] { return 50e-6; }, options);
  EXPECT_FALSE(results[0].stopped_early);
}

TEST(Timing, DriftIsTakenOutBeforeComparingWithTheIncumbent) {
  TimingOptions options = WithControl();
  options.incumbent_us = 100;
  MadeUp kernel{150};  // on a core that runs at two thirds of its speed: 100
  auto results = TimeInTurns({kernel.Function()}, [] { return 75e-6; }, options);
  EXPECT_FALSE(results[0].stopped_early);
  EXPECT_NEAR(results[0].drift, 1.5, 1e-9);
  EXPECT_NEAR(results[0].control_us, 75, 1e-9);
  EXPECT_NEAR(results[0].median_us, 150, 1e-9);
}

TEST(Timing, ASlowKernelIsNotRunOften) {
  MadeUp slow{200000};
  TimeInTurns({slow.Function()}, [] { return 50e-6; }, WithControl());
  EXPECT_LE(slow.runs, 2);
}

TEST(Timing, OneDisturbedControlDoesNotShiftASlowKernelsTime) {
  MadeUp slow{8000};
  int calls = 0;
  // The first of each round is disturbed, and there are no more than three rounds.
  auto control = [&] { return calls++ % 15 == 0 ? 150e-6 : 50e-6; };
  auto results = TimeInTurns({slow.Function()}, control, WithControl());
  EXPECT_LE(slow.runs, 4);
  EXPECT_GE(calls, 15);
  EXPECT_NEAR(results[0].drift, 1, 1e-9);
}

TEST(Timing, EachLongRunIsASample) {
  MadeUp heavy{8000};
  auto results = TimeInTurns({heavy.Function()}, [] { return 50e-6; }, WithControl());
  EXPECT_EQ(heavy.runs, 2) << "they agree";
  EXPECT_EQ(results[0].samples.size(), 2u);
  EXPECT_NEAR(results[0].median_us, 8000, 1e-6);
  EXPECT_NEAR(results[0].control_us, 50, 1e-9);
  MadeUp noisy{8000, 0.3};
  results = TimeInTurns({noisy.Function()}, [] { return 50e-6; }, WithControl());
  EXPECT_EQ(noisy.runs, 3);
  EXPECT_EQ(results[0].samples.size(), 3u);
}

TEST(Timing, AHeavyKernelThatIsNotNearTheIncumbentNeedsFewRuns) {
  TimingOptions options = WithControl();
  options.incumbent_us = 5000;
  MadeUp behind{5500}, far{6600}, rival{5100};
  auto results = TimeInTurns({behind.Function()}, [] { return 50e-6; }, options);
  EXPECT_EQ(behind.runs, 2);
  EXPECT_TRUE(results[0].stopped_early);
  results = TimeInTurns({far.Function()}, [] { return 50e-6; }, options);
  EXPECT_EQ(far.runs, 1);
  results = TimeInTurns({rival.Function()}, [] { return 50e-6; }, options);
  EXPECT_EQ(rival.runs, 3);
  EXPECT_FALSE(results[0].stopped_early);
}

TEST(Timing, AFirstRunThatIsHopelessIsTheLast) {
  TimingOptions options = WithControl();
  options.incumbent_us = 5000;
  options.first_seconds = {0.020};
  MadeUp hopeless{19000};
  auto results = TimeInTurns({hopeless.Function()}, [] { return 50e-6; }, options);
  EXPECT_EQ(hopeless.runs, 0);
  EXPECT_TRUE(results[0].stopped_early);
  EXPECT_NEAR(results[0].median_us, 20000, 1e-6);
  EXPECT_NEAR(results[0].drift, 1, 1e-9);
  // On a core at half of its speed the same is twice as good.
  results = TimeInTurns({hopeless.Function()}, [] { return 100e-6; }, options);
  EXPECT_EQ(hopeless.runs, 1);
  options.precise = true;
  results = TimeInTurns({hopeless.Function()}, [] { return 50e-6; }, options);
  EXPECT_GT(hopeless.runs, 1);
  EXPECT_FALSE(results[0].stopped_early);
}

TEST(Timing, KernelsTakeTurns) {
  std::vector<int> order;
  auto kernel = [&](int i) {
    return [&order, i](int n) {
      order.push_back(i);
      return 200e-6 * n;
    };
  };
  TimeInTurns({kernel(0), kernel(1)}, [] { return 50e-6; }, WithControl());
  ASSERT_GE(order.size(), 6u);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i % 2));
}

TEST(Timing, TimesThatMeanNothingAreCalledNoise) {
  int n = 0;
  auto wild = [&](int runs) {
    return (++n % 3 == 0 ? 900e-6 : n % 3 == 1 ? 300e-6 : 100e-6) * runs;
  };
  auto results = TimeInTurns({wild}, [] { return 50e-6; }, WithControl());
  EXPECT_TRUE(results[0].too_noisy);
  EXPECT_LE(results[0].samples.size(), static_cast<size_t>(kMaxSamples));
}

TEST(Timing, NothingToTime) {
  EXPECT_TRUE(TimeInTurns({}, [] { return 50e-6; }, WithControl()).empty());
}

TEST(Timing, MedianAndSpread) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_NEAR(RelativeSpread({1, 2, 3, 4, 5}), 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace temper::runner
