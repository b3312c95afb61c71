#include "compiler/target/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/target/known_targets.h"

namespace temper {
namespace {

void ExpectSame(const Target& a, const Target& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.cpu, b.cpu);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.vector_bits, b.vector_bits);
  EXPECT_EQ(a.vector_registers, b.vector_registers);
  EXPECT_EQ(a.masked_vectors, b.masked_vectors);
  EXPECT_EQ(a.l1_bytes, b.l1_bytes);
  EXPECT_EQ(a.l2_bytes, b.l2_bytes);
  EXPECT_EQ(a.l3_bytes, b.l3_bytes);
  EXPECT_EQ(a.line_bytes, b.line_bytes);
  EXPECT_EQ(a.cores, b.cores);
}

TEST(TargetTest, DetectedTargetIsConsistent) {
  Target t = DetectTarget();
  EXPECT_TRUE(std::is_sorted(t.features.begin(), t.features.end()));
  const auto& all = X86Features();
  for (const std::string& f : t.features) {
    EXPECT_TRUE(std::binary_search(all.begin(), all.end(), f)) << f;
  }
  EXPECT_GE(t.cores, 1);
  EXPECT_GE(t.l1_bytes, 8 << 10);
  EXPECT_GE(t.l2_bytes, t.l1_bytes);
  EXPECT_EQ(t.line_bytes, 64);
  EXPECT_TRUE(CanRunOn(t, t).ok());
  // The processor named for it needs nothing that was not detected.
  auto known = ParseTarget(t.cpu);
  ASSERT_TRUE(known.ok()) << known.status().ToString();
  EXPECT_TRUE(CanRunOn(*known, t).ok());
  auto native = ParseTarget("native");
  ASSERT_TRUE(native.ok());
  ExpectSame(*native, t);
}

TEST(TargetTest, TextRoundTripsForEveryTarget) {
  std::vector<Target> targets = {DetectTarget()};
  for (const std::string& name : KnownTargets()) {
    auto t = ParseTarget(name);
    ASSERT_TRUE(t.ok()) << name;
    EXPECT_EQ(t->name, name);
    targets.push_back(*t);
  }
  for (const Target& t : targets) {
    auto back = ParseTargetText(TargetText(t));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    ExpectSame(*back, t);
    EXPECT_EQ(Fingerprint(*back), Fingerprint(t));
    EXPECT_EQ(Fingerprint(t).size(), 16u);
  }
}

TEST(TargetTest, VectorShapeFollowsFeatures) {
  EXPECT_EQ(ParseTarget("x86-64")->vector_bits, 128);
  EXPECT_EQ(ParseTarget("haswell")->vector_bits, 256);
  EXPECT_EQ(ParseTarget("haswell")->vector_registers, 16);
  EXPECT_FALSE(ParseTarget("haswell")->masked_vectors);
  EXPECT_EQ(ParseTarget("skylake-avx512")->vector_bits, 512);
  EXPECT_EQ(ParseTarget("skylake-avx512")->vector_registers, 32);
  EXPECT_TRUE(ParseTarget("skylake-avx512")->masked_vectors);
  EXPECT_EQ(ParseTarget("znver4")->Lanes(4), 16);
}

TEST(TargetTest, CpuComesFromFeaturesAndVendor) {
  for (const char* name : {"znver4", "znver5", "znver3"}) {
    EXPECT_EQ(CpuForFeatures(ParseTarget(name)->features, "AuthenticAMD"), name);
  }
  for (const char* name : {"haswell", "skylake-avx512", "icelake-server", "sapphirerapids"}) {
    EXPECT_EQ(CpuForFeatures(ParseTarget(name)->features, "GenuineIntel"), name);
  }
  EXPECT_EQ(CpuForFeatures({}, "GenuineIntel"), "x86-64");
  EXPECT_EQ(CpuForFeatures(ParseTarget("x86-64-v2")->features, "AuthenticAMD"), "x86-64-v2");
}

TEST(TargetTest, FingerprintCoversFeaturesAndCachesOnly) {
  Target a = *ParseTarget("znver4"), b = a;
  b.cores = 64;
  b.name = "my-server";
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
  b.l2_bytes *= 2;
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
  EXPECT_EQ(MicroArchitecture(a), MicroArchitecture(b));
  Target c = a;
  c.features.pop_back();
  EXPECT_NE(Fingerprint(a), Fingerprint(c));
  EXPECT_NE(MicroArchitecture(a), MicroArchitecture(*ParseTarget("haswell")));
}

TEST(TargetTest, RefusalsSayWhatIsMissingOrKnown) {
  Status s = CanRunOn(*ParseTarget("x86-64-v4"), *ParseTarget("haswell"));
  EXPECT_EQ(s.code(), Code::kFailedPrecondition);
  EXPECT_NE(s.message().find("avx512f"), std::string::npos) << s.message();
  EXPECT_TRUE(CanRunOn(*ParseTarget("haswell"), *ParseTarget("x86-64-v4")).ok());
  auto unknown = ParseTarget("pentium");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("znver5"), std::string::npos);
  for (const char* text : {"", "arm", "x86_64", "x86_64 cpu=a b", "x86_64 cpu=x cpu=y",
                           "x86_64 cpu=x name=y features=mmx vector_bits=128 l1=1 l2=1 l3=1 "
                           "line=64 cores=1",
                           "x86_64 cpu=x name=y features= vector_bits=512 l1=1 l2=1 l3=1 "
                           "line=64 cores=1",
                           "x86_64 cpu=x name=y features= vector_bits=128 l1=-1 l2=1 l3=1 "
                           "line=64 cores=1"}) {
    EXPECT_FALSE(ParseTargetText(text).ok()) << text;
  }
}

}  // namespace
}  // namespace temper
