#include "compiler/tools/tune_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace temper::tools {
namespace {

proto::JobStatus Example() {
  proto::JobStatus status;
  status.set_phase(proto::JOB_PHASE_RUNNING);
  status.set_trials(120);
  status.set_seconds(4);
  status.set_remaining_seconds(56);
  status.set_model_us(1500);
  status.set_workers(2);
  for (int i = 0; i < 3; ++i) {
    auto* task = status.add_tasks();
    task->set_name("conv " + std::to_string(i));
    task->set_workload("abc");
    task->set_weight(i + 1);
    task->set_trials(40);
    task->set_best_us(i == 2 ? 0 : 100.0 * (i + 1));
    task->set_gflops(50);
    task->set_share(i * 0.3);
  }
  auto* ok = status.add_outcomes();
  ok->set_outcome("ok");
  ok->set_count(100);
  auto* wrong = status.add_outcomes();
  wrong->set_outcome("build_failed");
  wrong->set_count(20);
  return status;
}

TEST(ParseDuration, TakesUnitsAndRefusesNonsense) {
  EXPECT_EQ(*ParseDuration("5m"), 300);
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("90"), 90);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
  EXPECT_EQ(*ParseDuration("2400h"), 2400 * 3600);
  EXPECT_NE(ParseDuration("2401h").status().message().find("2400h at most"), std::string::npos);
  for (const char* bad : {"", "m", "-5m", "0", "5x", "1e99h", "5 m", "nan"}) {
    EXPECT_EQ(ParseDuration(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(FormatDuration, IsMinutesAndHours) {
  EXPECT_EQ(FormatDuration(0), "0:00");
  EXPECT_EQ(FormatDuration(65.9), "1:05");
  EXPECT_EQ(FormatDuration(7207), "2:00:07");
}

TEST(PredictionLine, SaysHowWellTheModelRanked) {
  proto::JobStatus status = Example();
  EXPECT_EQ(PredictionLine(status), "") << "nothing was predicted";
  status.set_rank_correlation(0.4249);
  EXPECT_TRUE(PredictionLine(status).starts_with("predictions: rank correlation 0.42 within"));
}

TEST(SteadinessLine, SaysHowWellTimesRepeat) {
  proto::JobStatus status = Example();
  EXPECT_EQ(SteadinessLine(status), "") << "too few times";
  status.set_within(0.0123);
  EXPECT_EQ(SteadinessLine(status), "times: four of five within 1.2% of their kernel's\n");
}

TEST(StatusLine, SaysWhereTheJobIs) {
  EXPECT_EQ(StatusLine(Example()),
            "0:04  120 trials (30.0/s)  model 1.500 ms  about 0:56 left  2 workers");
  proto::JobStatus predicted = Example();
  predicted.set_rank_correlation(0.4249);
  EXPECT_NE(StatusLine(predicted).find("model 1.500 ms  predictions 0.42  about"),
            std::string::npos);
  proto::JobStatus waiting;
  EXPECT_EQ(StatusLine(waiting), "0:00  0 trials  model -  waiting for a measure-worker");
}

TEST(StatusTable, TheLargestShareComesFirst) {
  std::string table = StatusTable(Example(), 10, false);
  size_t first = table.find("conv 2"), second = table.find("conv 1"), third = table.find("conv 0");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(table.find("200.0"), std::string::npos);
  EXPECT_NE(table.find("60.0%"), std::string::npos);
  EXPECT_EQ(table.find('\033'), std::string::npos);
  EXPECT_NE(StatusTable(Example(), 10, true).find('\033'), std::string::npos);
}

TEST(StatusTable, SaysWhatItLeavesOut) {
  std::string table = StatusTable(Example(), 1, false);
  EXPECT_EQ(table.find("conv 0"), std::string::npos);
  EXPECT_NE(table.find("... and 2 more"), std::string::npos);
}

TEST(StatusTable, HostileNamesCannotMoveTheCursor) {
  auto status = Example();
  status.mutable_tasks(0)->set_name("\033[2Jconv\n");
  EXPECT_EQ(StatusTable(status, 10, false).find('\033'), std::string::npos);
}

TEST(StatusJson, HasTheKeysThatProgramsRead) {
  auto json = nlohmann::json::parse(StatusJson(Example()));
  EXPECT_EQ(json["trials"], 120);
  EXPECT_EQ(json["seconds"], 4);
  EXPECT_EQ(json["trials_per_second"], 25);
  EXPECT_EQ(json["model_ms"], 1.5);
  EXPECT_EQ(json["outcomes"]["build_failed"], 20);
  EXPECT_EQ(json["warning"], "");
  auto noisy = Example();
  noisy.set_within(0.2);
  noisy.set_warning("the core's speed went from 100 to 200 GFLOP/s");
  json = nlohmann::json::parse(StatusJson(noisy));
  EXPECT_EQ(json["within"], 0.2);
  EXPECT_EQ(json["warning"], noisy.warning());
  ASSERT_EQ(json["tasks"].size(), 3u);
  for (const char* key : {"name", "workload", "trials", "best_us", "gflops"}) {
    EXPECT_TRUE(json["tasks"][0].contains(key)) << key;
  }
}

}  // namespace
}  // namespace temper::tools
