#include "db/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/db/make_record.h"

namespace temper::db {
namespace {

TEST(Record, GoodOnesAreValid) {
  EXPECT_TRUE(ValidateRecord(MakeRecord(1, 1, 10)).ok());
  EXPECT_TRUE(ValidateRecord(MakeRecord(1, 1, 0)).ok());
}

TEST(Record, EachFaultIsNamed) {
  struct Case {
    const char* field;
    std::function<void(Record&)> spoil;
  };
  const Case cases[] = {
      {"hash", [](Record& r) { r.workload_text += "x"; }},
      {"workload_text", [](Record& r) { r.workload_text.clear(); }},
      {"target", [](Record& r) { r.key.target.clear(); }},
      {"target", [](Record& r) { r.key.target = "\xff"; }},
      {"threads", [](Record& r) { r.key.threads = 0; }},
      {"threads", [](Record& r) { r.key.threads = 5000; }},
      {"schedule", [](Record& r) { r.schedule.clear(); }},
      {"schedule", [](Record& r) { r.schedule.assign((1 << 20) + 1, 'x'); }},
      {"schedule", [](Record& r) { r.schedule = std::string("a\0b", 3); }},
      {"schedule_hash", [](Record& r) { r.schedule_hash = {}; }},
      {"outcome", [](Record& r) { r.outcome = static_cast<Outcome>(200); }},
      {"median_us", [](Record& r) { r.median_us = 0; }},
      {"median_us", [](Record& r) { r.median_us = std::nan(""); }},
      {"median_us", [](Record& r) { r.median_us = -1; }},
      {"times", [](Record& r) { r.outcome = Outcome::kWrongResult; }},
      {"sample", [](Record& r) { r.samples = {std::numeric_limits<float>::infinity()}; }},
      {"samples", [](Record& r) { r.samples.resize(70000); }},
      {"drift", [](Record& r) { r.drift = 0; }},
      {"flops", [](Record& r) { r.flops = -1; }},
      {"constants", [](Record& r) { r.key.constants = static_cast<Constants>(7); }},
      {"features_version", [](Record& r) { r.features_version = -1; }},
      {"created_ms", [](Record& r) { r.created_ms = -1; }},
      {"worker", [](Record& r) { r.worker = "\xc3"; }},
  };
  for (const Case& c : cases) {
    Record record = MakeRecord(1, 1, 10);
    c.spoil(record);
    Status status = ValidateRecord(record);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << c.field;
    EXPECT_NE(status.message().find(c.field), std::string::npos) << status.message();
  }
}

TEST(Record, RanksWithoutDrift) {
  Record r = MakeRecord(1, 1, 10);
  r.drift = 1.25;
  EXPECT_EQ(r.RankUs(), 8);
  EXPECT_EQ(r.Gflops(), 200);
  EXPECT_EQ(MakeRecord(1, 1, 0).Gflops(), 0);
}

TEST(Record, WhichOfTwoIsKept) {
  using enum Outcome;
  EXPECT_TRUE(MeasurementReplaces(kOk, kOk)) << "the newer measurement";
  EXPECT_TRUE(MeasurementReplaces(kCrashed, kOk)) << "a kernel that crashes once is not served";
  EXPECT_FALSE(MeasurementReplaces(kInfrastructure, kOk));
  EXPECT_FALSE(MeasurementReplaces(kTooNoisy, kCrashed));
  EXPECT_TRUE(MeasurementReplaces(kOk, kInfrastructure));

  EXPECT_TRUE(ImportReplaces(kOk, 1, kOk, 2));
  EXPECT_FALSE(ImportReplaces(kOk, 2, kOk, 2));
  EXPECT_FALSE(ImportReplaces(kOk, 1, kWrongResult, 0));
  EXPECT_FALSE(ImportReplaces(kCrashed, 0, kOk, 2));
  EXPECT_TRUE(ImportReplaces(kCrashed, 0, kTooNoisy, 0));
}

}  // namespace
}  // namespace temper::db
