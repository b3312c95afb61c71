#include "compiler/target/rates.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
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
