#include "compiler/tools/record_check.h"

#include <gtest/gtest.h>

#include "compiler/schedule/text.h"
#include "tests/db/make_record.h"

namespace temper::tools {
namespace {

db::Record Good() {
  db::Record record = db::MakeRecord(1, 1, 10);
  schedule::Schedule schedule;
  schedule.workload = record.key.workload;
  schedule.alternative = 2;
  record.schedule = schedule::ToText(schedule);
  record.schedule_hash = schedule::ScheduleHash(schedule);
  return record;
}

void ExpectRefused(const db::Record& record, const std::string& part) {
  const Status status = CheckImportedRecord(record);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(RecordCheckTest, TakesWhatAServerWrites) {
  EXPECT_TRUE(CheckImportedRecord(Good()).ok()) << CheckImportedRecord(Good()).message();
}

TEST(RecordCheckTest, RefusesASchedule) {
  db::Record record = Good();
  record.schedule = "garbage";
  ExpectRefused(record, "\"schedule\"");
  record = Good();
  record.schedule_hash = Sha256("another");
  ExpectRefused(record, "\"schedule_hash\"");
  record = Good();
  record.key = db::MakeKey(2);
  ExpectRefused(record, "another workload");
}

TEST(RecordCheckTest, RefusesAMedianThatTheSamplesDoNotGive) {
  db::Record record = Good();
  record.median_us = 0.001;
  ExpectRefused(record, "\"median_us\" is 0.001");
  record.median_us = 11;
  ExpectRefused(record, "\"median_us\" is 11");
}

}  // namespace
}  // namespace temper::tools
