#include "compiler/target/rates.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "compiler/target/machine_rates.h"
#include "compiler/target/native_target.h"
#include "compiler/target/target.h"

namespace temper {
namespace {

Rates Some() {
  Rates rates;
  rates.cores = 8;
  rates.gflops = {100, 600};
  rates.gbytes = {{{400, 3200}, {150, 1200}, {60, 240}, {20, 30}}};
  rates.handoff_ns = 250;
  return rates;
}

TEST(Rates, TextRoundTrips) {
  EXPECT_EQ(RatesText(Some()), "8,100,600,400,3200,150,1200,60,240,20,30,250");
  auto back = ParseRates(RatesText(Some()));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, Some());
  for (const char* bad : {"", "8", "8,100,600,400,3200,150,1200,60,240,20,30,0",
                          "8,100,600,400,3200,150,1200,60,240,20,30,250,1",
                          "8,100,600,400,3200,150,1200,60,240,20,30,x",
                          "8,100,600,400,3200,150,1200,60,240,20,30,999999999999"}) {
    EXPECT_FALSE(ParseRates(bad).ok()) << bad;
  }
}

TEST(Rates, ThreadsShareWhatCoresShare) {
  Rates rates = Some();
  EXPECT_EQ(rates.Gflops(1), 100);
  EXPECT_EQ(rates.Gflops(4), 400);
  EXPECT_EQ(rates.Gflops(8), 600);  // the clock falls
  EXPECT_EQ(rates.Gbytes(Level::kMemory, 1), 20);
  EXPECT_EQ(rates.Gbytes(Level::kMemory, 2), 30);
  EXPECT_EQ(rates.Gbytes(Level::kMemory, 64), 30);
  EXPECT_EQ(rates.Gbytes(Level::kL2, 64), 1200);
  rates.gbytes[3] = {20, 15};  // measured badly: more threads are never slower
  EXPECT_EQ(rates.Gbytes(Level::kMemory, 2), 20);
}

TEST(Rates, ArePartOfTheDescriptionNotOfTheFingerprint) {
  Target target = *ParseTarget("znver4");
  const std::string fingerprint = Fingerprint(target);
  EXPECT_EQ(TargetText(target).find("rates"), std::string::npos);
  target.rates = Some();
  EXPECT_EQ(Fingerprint(target), fingerprint);
  auto back = ParseTarget(TargetText(target));  // a description serves as a name
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->rates, Some());
  EXPECT_EQ(TargetText(*back), TargetText(target));
  EXPECT_FALSE(ParseTarget(TargetText(target) + ",1").ok());
}

TEST(Rates, OfAnUnmeasuredTargetFollowItsVectorsAndCores) {
  Target wide = *ParseTarget("znver4"), narrow = *ParseTarget("znver3");
  EXPECT_EQ(RatesOf(wide).gflops.core, 2 * RatesOf(narrow).gflops.core);
  wide.cores = 2;
  EXPECT_EQ(RatesOf(wide).Gflops(2), 2 * RatesOf(wide).Gflops(1));
  for (int level = 1; level < kLevels; ++level) {
    EXPECT_LT(RatesOf(wide).gbytes[level].core, RatesOf(wide).gbytes[level - 1].core);
  }
  wide.rates = Some();
  EXPECT_EQ(RatesOf(wide), Some());
}

TEST(NativeTarget, IsMeasuredOnceAndKept) {
  auto folder = ScopedTempDir::Create("temper-rates-test");
  ASSERT_TRUE(folder.ok());
  const std::string cache = folder->File("cache");
  SystemClock clock;
  Target first = NativeTarget(cache, clock);
  ASSERT_TRUE(first.rates.Known());
  EXPECT_GT(first.rates.gflops.core, 0);
  EXPECT_EQ(NativeTarget(cache, clock).rates, first.rates);
  // What others wrote there is taken if it can be read, else replaced.
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(cache)) {
    if (file.path().extension() == ".lock") continue;
    ++files;
    ASSERT_TRUE(WriteFileAtomic(file.path(), RatesText(Some())).ok());
    EXPECT_EQ(NativeTarget(cache, clock).rates, Some());
    ASSERT_TRUE(WriteFileAtomic(file.path(), "1,2").ok());
  }
  EXPECT_EQ(files, 1);
  Target again = NativeTarget(cache, clock);
  EXPECT_TRUE(again.rates.Known());
  EXPECT_EQ(NativeTarget(cache, clock).rates, again.rates);
}

TEST(NativeTarget, IsTheSameForAllWhoAskAtOnce) {
  auto folder = ScopedTempDir::Create("temper-rates-test");
  ASSERT_TRUE(folder.ok());
  const std::string cache = folder->File("cache");
  constexpr int kAskers = 4;
  std::vector<Rates> rates(kAskers);
  std::vector<std::thread> askers;
  for (int i = 0; i < kAskers; ++i) {
    askers.emplace_back([&, i] {
      SystemClock clock;
      rates[i] = NativeTarget(cache, clock).rates;
    });
  }
  for (std::thread& asker : askers) asker.join();
  SystemClock clock;
  const Rates kept = NativeTarget(cache, clock).rates;
  ASSERT_TRUE(kept.Known());
  for (const Rates& each : rates) EXPECT_EQ(each, kept);
}

TEST(NativeTarget, TakesWhatTheHolderOfTheLockWrites) {
  auto folder = ScopedTempDir::Create("temper-rates-test");
  ASSERT_TRUE(folder.ok());
  SystemClock clock;
  NativeTarget(folder->path(), clock);
  std::string path;
  for (const auto& file : std::filesystem::directory_iterator(folder->path())) {
    if (file.path().extension() != ".lock") path = file.path();
  }
  ASSERT_FALSE(path.empty());
  ASSERT_EQ(unlink(path.c_str()), 0);
  ScopedFd lock(open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(lock.valid());
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  Rates asked;
  std::thread asker([&] { asked = NativeTarget(folder->path(), clock).rates; });
  ASSERT_TRUE(WriteFileAtomic(path, RatesText(Some())).ok());
  lock.Reset();
  asker.join();
  EXPECT_EQ(asked, Some());
}

TEST(NativeTarget, SaysWhichFileItCannotUnderstand) {
  auto folder = ScopedTempDir::Create("temper-rates-test");
  ASSERT_TRUE(folder.ok());
  SystemClock clock;
  std::string said;
  Logger log = Logger::To([&](LogLevel, std::string_view line) { said += line; });
  NativeTarget(folder->path(), clock, log);
  EXPECT_EQ(said, "");
  std::string path;
  for (const auto& file : std::filesystem::directory_iterator(folder->path())) {
    if (file.path().extension() != ".lock") path = file.path();
  }
  const std::string hostile[] = {std::string(5000, '1'), std::string("\x1b[2J\0", 5)};
  for (const std::string& text : hostile) {
    said.clear();
    ASSERT_TRUE(WriteFileAtomic(path, text).ok());
    EXPECT_TRUE(NativeTarget(folder->path(), clock, log).rates.Known());
    EXPECT_NE(said.find(path), std::string::npos) << said;
    EXPECT_NE(said.find("measured anew"), std::string::npos) << said;
  }
  // Nobody writes to a pipe, which is neither waited for nor replaced.
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  said.clear();
  EXPECT_FALSE(NativeTarget(folder->path(), clock, log).rates.Known());
  EXPECT_NE(said.find("not a regular file"), std::string::npos) << said;
}

TEST(NativeTarget, StaysUnmeasuredWhereNothingCanBeKept) {
  SystemClock clock;
  EXPECT_FALSE(NativeTarget("", clock).rates.Known());
  auto folder = ScopedTempDir::Create("temper-rates-test");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(WriteFileAtomic(folder->File("file"), "").ok());
  EXPECT_FALSE(NativeTarget(folder->File("file"), clock).rates.Known());
}

}  // namespace
}  // namespace temper
