#include "deploy/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "deploy/runtime/cpu_count.h"

namespace {

using Pool = std::unique_ptr<temper_pool, void (*)(temper_pool*)>;

Pool MakePool(int threads) { return Pool(temper_pool_create(threads), temper_pool_destroy); }

// Runs `body` as the loop's body, through the context as generated code does.
template <typename F>
void Parallel(temper_pool* pool, int64_t count, F body) {
  temper_context* context = temper_pool_context(pool);
  context->parallel_for(
      context, [](void* f, int64_t begin, int64_t end) { (*static_cast<F*>(f))(begin, end); },
      &body, count);
}

std::set<std::pair<int64_t, int64_t>> ChunksOf(temper_pool* pool, int64_t count) {
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  Parallel(pool, count, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(begin, end).second);
  });
  return chunks;
}

TEST(ThreadPoolTest, CoversTheRangeByStaticChunks) {
  for (int threads = 1; threads <= 5; ++threads) {
    Pool pool = MakePool(threads);
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(temper_pool_threads(pool.get()), threads);
    for (int64_t count : {1, 2, 3, 4, 5, 6, 7, 64, 1000003}) {
      std::set<std::pair<int64_t, int64_t>> expected;
      const int64_t chunks = std::min<int64_t>(threads, count);
      for (int64_t i = 0; i < chunks; ++i) {
        expected.emplace(count * i / chunks, count * (i + 1) / chunks);
      }
      EXPECT_EQ(ChunksOf(pool.get(), count), expected) << threads << " threads, " << count;
    }
  }
}

TEST(ThreadPoolTest, AnEmptyRangeCallsNothing) {
  Pool pool = MakePool(3);
  EXPECT_TRUE(ChunksOf(pool.get(), 0).empty());
  EXPECT_TRUE(ChunksOf(pool.get(), -4).empty());
}

TEST(ThreadPoolTest, HugeCountsDoNotOverflow) {
  Pool pool = MakePool(4);
  const int64_t most = INT64_MAX;
  const auto chunks = ChunksOf(pool.get(), most);
  ASSERT_EQ(chunks.size(), 4u);
  int64_t at = 0;
  for (const auto& [begin, end] : chunks) {
    EXPECT_EQ(begin, at);
    EXPECT_GT(end, begin);
    at = end;
  }
  EXPECT_EQ(at, most);
}

// The thread of each chunk of a loop that the caller does not finish before all of them began.
std::vector<std::thread::id> ThreadsOf(temper_pool* pool, int chunks) {
  std::vector<std::thread::id> threads(chunks);
  std::atomic<int> begun{0};
  Parallel(pool, chunks, [&](int64_t i, int64_t) {
    threads[i] = std::this_thread::get_id();
    ++begun;
    while (i == 0 && begun < chunks) std::this_thread::yield();
  });
  return threads;
}

TEST(ThreadPoolTest, EveryChunkKeepsItsThread) {
  Pool pool = MakePool(3);
  const auto first = ThreadsOf(pool.get(), 3), again = ThreadsOf(pool.get(), 3);
  EXPECT_EQ(first, again);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 3u);
}

// Whoever takes it, the caller or its thread, each chunk runs once: with threads awake, asleep and
// without a core of their own.
TEST(ThreadPoolTest, RunsEachChunkOnceWhoeverTakesIt) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (bool share : {false, true}) {
    if (share) {
      CPU_ZERO(&one);
      CPU_SET(sched_getcpu(), &one);
      sched_setaffinity(0, sizeof one, &one);
    }
    Pool pool = MakePool(2);
    for (int i = 0; i < 2000; ++i) {
      if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::atomic<int> runs[2] = {0, 0};
      Parallel(pool.get(), 2, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) ++runs[k];
      });
      ASSERT_EQ(runs[0], 1);
      ASSERT_EQ(runs[1], 1);
    }
    sched_setaffinity(0, sizeof before, &before);
  }
}

TEST(ThreadPoolTest, OneThreadRunsOnTheCaller) {
  Pool pool = MakePool(1);
  std::thread::id id;
  Parallel(pool.get(), 100, [&](int64_t, int64_t) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ThreadPoolTest, ANestedLoopRunsSeriallyWhereItStarts) {
  Pool pool = MakePool(3);
  std::atomic<int> outer{0}, inner{0}, elsewhere{0};
  Parallel(pool.get(), 3, [&](int64_t, int64_t) {
    ++outer;
    const auto here = std::this_thread::get_id();
    Parallel(pool.get(), 10, [&](int64_t begin, int64_t end) {
      inner += static_cast<int>(end - begin);
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  EXPECT_EQ(outer, 3);
  EXPECT_EQ(inner, 30);
  EXPECT_EQ(elsewhere, 0);
}

// Writes of one loop are seen by the next, on other threads; loops follow each other closely.
TEST(ThreadPoolTest, LoopsFollowEachOther) {
  for (int threads : {2, 3, 8}) {
    Pool pool = MakePool(threads);
    std::vector<int64_t> a(64, 0), b(64, 0);
    const int rounds = 3000;
    for (int i = 0; i < rounds; ++i) {
      Parallel(pool.get(), 64, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) b[k] = a[63 - k] + 1;
      });
      std::swap(a, b);
    }
    for (int64_t value : a) ASSERT_EQ(value, rounds);
  }
}

// Waits long enough between loops for the threads to fall asleep, on both sides.
TEST(ThreadPoolTest, WakesSleepingThreads) {
  Pool pool = MakePool(2);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> sum{0};
    std::atomic<bool> begun{false};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Parallel(pool.get(), 2, [&](int64_t begin, int64_t end) {
      if (begin) {
        begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      while (!begun) std::this_thread::yield();
      sum += static_cast<int>(end - begin);
    });
    ASSERT_EQ(sum, 2);
  }
}

TEST(ThreadPoolTest, SeveralThreadsMayMeetAtOnePool) {
  Pool pool = MakePool(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        Parallel(pool.get(), 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 3 * 300 * 10);
}

TEST(ThreadPoolTest, ZeroMeansOnePerCore) {
  Pool pool = MakePool(0);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(temper_pool_threads(pool.get()), temper_cpu_count(TEMPER_CPU_CORES));
  EXPECT_GE(temper_cpu_count(TEMPER_CPU_CORES), 1);
  EXPECT_LE(temper_cpu_count(TEMPER_CPU_CORES), temper_cpu_count(TEMPER_CPU_LOGICAL));
  EXPECT_LE(temper_cpu_count(TEMPER_CPU_LOGICAL),
            static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(ThreadPoolTest, RefusesCountsOutOfRange) {
  for (int threads : {-1, TEMPER_MAX_THREADS + 1, INT32_MIN, INT32_MAX}) {
    errno = 0;
    EXPECT_EQ(temper_pool_create(threads), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  temper_pool_destroy(nullptr);
}

}  // namespace
