#include "db/transfer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/rng.h"
#include "db/memory_store.h"
#include "db/record_json.h"
#include "tests/db/make_record.h"

namespace temper::db {
namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RecordJson, RoundTrips) {
  Record r = MakeRecord(1, 1, 10.123456789012345);
  r.drift = 1.0 / 3;
  r.detail = "caf\xc3\xa9 \"quoted\" \\ \x01";
  std::string line = RecordToJson(r);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  auto back = RecordFromJson(line);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, r);
  EXPECT_EQ(*RecordFromJson(RecordToJson(MakeRecord(1, 2, 0))), MakeRecord(1, 2, 0));
}

TEST(RecordJson, WarmRecordsSayItAndColdOnesAreAsBefore) {
  Record r = MakeRecord(1, 1, 10);
  EXPECT_EQ(RecordToJson(r).find("constants"), std::string::npos);
  EXPECT_EQ(RecordFromJson(RecordToJson(r))->key.constants, Constants::kCold);
  r.key.constants = Constants::kWarm;
  const std::string line = RecordToJson(r);
  EXPECT_EQ(*RecordFromJson(line), r);
  EXPECT_NE(line.find("\"temper_record\":2"), std::string::npos) << "older programs refuse it";
  const Status unknown = RecordFromJson(Replaced(line, "\"warm\"", "\"hot\"")).status();
  EXPECT_NE(unknown.message().find("\"hot\""), std::string::npos) << unknown.message();
}

TEST(RecordJson, UnknownFieldsAreIgnored) {
  std::string line = Replaced(RecordToJson(MakeRecord(1, 1, 10)), "{", "{\"later\":{\"a\":1},");
  EXPECT_TRUE(RecordFromJson(line).ok());
}

TEST(RecordJson, BadLinesSayWhy) {
  std::string good = RecordToJson(MakeRecord(1, 1, 10));
  struct Case {
    std::string line;
    const char* message;
  };
  const Case cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {good + "x", "not JSON"},
      {"[1]", "not a record"},
      {"{}", "\"temper_record\" is missing"},
      {std::string(100000, '['), "nested too deeply"},
      {Replaced(good, "{", "{\"deep\":{\"a\":[[]]},"), "nested too deeply"},
      {Replaced(good, "\"temper_record\":1", "\"temper_record\":3"), "version 3"},
      {Replaced(good, "\"threads\":1", "\"threads\":1.5"), "\"threads\" is not a whole number"},
      {Replaced(good, "\"threads\":1", "\"threads\":4294967297"), "\"threads\""},
      {Replaced(good, "\"threads\":1", "\"threads\":-4294967297"), "\"threads\""},
      {Replaced(good, "\"threads\":1", "\"threads\":\"1\""), "\"threads\""},
      {Replaced(good, "\"seed\":18364758544493064720", "\"seed\":-1"), "\"seed\""},
      {Replaced(good, "\"samples\":[", "\"samples\":[\"x\","), "\"samples\""},
      {Replaced(good, "\"samples\":[", "\"samples\":[1e300,"), "a sample"},
      {Replaced(good, "\"outcome\":\"ok\"", "\"outcome\":\"great\""), "\"great\""},
      {Replaced(good, "\"unsandboxed\":true", "\"unsandboxed\":1"), "\"unsandboxed\""},
      {Replaced(good, "\"median_us\":10.0", "\"median_us\":1e999"), "not JSON"},
      {Replaced(good, "\"workload\":\"", "\"workload\":\"0"), "\"workload\" is not 64 hex digits"},
      {Replaced(good, "workload 1", "workload 2"), "hash"},
      {Replaced(good, "task 1", "\xff"), "not JSON"},
  };
  for (const Case& c : cases) {
    Status status = RecordFromJson(c.line).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << c.message;
    EXPECT_NE(status.message().find(c.message), std::string::npos)
        << status.message() << " for " << c.message;
  }
}

// Whatever is done to a line, it is refused or gives a valid record.
TEST(RecordJson, MutatedLinesNeverGiveAnInvalidRecord) {
  const std::string good = RecordToJson(MakeRecord(1, 1, 10));
  Rng rng(1);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string line = good;
    for (uint64_t i = 0, n = 1 + rng.Uniform(3); i < n; ++i) {
      size_t at = rng.Uniform(line.size());
      switch (rng.Uniform(4)) {
        case 0:
          line[at] = static_cast<char>(rng.Next());
          break;
        case 1:
          line.erase(at, 1 + rng.Uniform(20));
          break;
        case 2:
          line.insert(at, line.substr(rng.Uniform(line.size()), 1 + rng.Uniform(20)));
          break;
        default:
          line[at] = "0123456789-.eE\"[]{}:,"[rng.Uniform(21)];
      }
    }
    auto record = RecordFromJson(line);
    if (record.ok()) {
      EXPECT_TRUE(ValidateRecord(*record).ok()) << line;
      EXPECT_EQ(*RecordFromJson(RecordToJson(*record)), *record) << line;
      ++accepted;
    } else {
      EXPECT_EQ(record.status().code(), Code::kInvalidArgument);
      ++refused;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

TEST(Transfer, ExportThenImportGivesTheSameStore) {
  MemoryStore from, to;
  std::vector<Record> records;
  for (int i = 0; i < 600; ++i) records.push_back(MakeRecord(i % 2, i, i % 5 == 0 ? 0 : 10 + i));
  ASSERT_TRUE(from.Put(records).ok());
  std::stringstream lines;
  auto exported = Export(from, {}, lines);
  ASSERT_TRUE(exported.ok());
  EXPECT_EQ(exported->lines, 600);
  auto imported = Import(lines, to);
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported->lines, 600);
  EXPECT_EQ(imported->counts.added, 600);
  EXPECT_EQ(imported->bad, 0);
  std::stringstream again;
  ASSERT_TRUE(Export(to, {}, again).ok());
  EXPECT_TRUE(again.str() == lines.str());
}

TEST(Transfer, ExportTakesAFilter) {
  MemoryStore store;
  ASSERT_TRUE(store.Put(std::vector<Record>{MakeRecord(1, 1, 10), MakeRecord(2, 2, 10)}).ok());
  std::ostringstream out;
  EXPECT_EQ(Export(store, {.workload = MakeKey(2).workload}, out)->lines, 1);
  EXPECT_EQ(out.str(), RecordToJson(MakeRecord(2, 2, 10)) + "\n");
}

TEST(Transfer, ExportReportsAFullDisk) {
  MemoryStore store;
  ASSERT_TRUE(store.Put(std::vector<Record>{MakeRecord(1, 1, 10)}).ok());
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(Export(store, {}, out).ok());
}

TEST(Transfer, ImportGoesOnPastBadLinesAndNamesThem) {
  MemoryStore store;
  std::string too_long(kMaxLineBytes + 1, 'x');
  std::stringstream in(RecordToJson(MakeRecord(1, 1, 10)) + "\n\nnonsense\n" + too_long + "\n" +
                       RecordToJson(MakeRecord(1, 2, 9)) + "\r\n" + "{\"cut\":");
  auto report = Import(in, store);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->lines, 5);
  EXPECT_EQ(report->counts.added, 2);
  EXPECT_EQ(report->bad, 3);
  ASSERT_EQ(report->errors.size(), 3u);
  EXPECT_EQ(report->errors[0], "line 3: it is not JSON");
  EXPECT_EQ(report->errors[1].find("line 4: it is longer than"), 0u);
  EXPECT_EQ(report->errors[2], "line 6: it is not JSON");
  EXPECT_EQ((*store.Best(MakeKey(1)))->median_us, 9);
}

TEST(Transfer, ReportedErrorsAreBounded) {
  MemoryStore store;
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "x\n";
  std::stringstream in(lines);
  auto report = Import(in, store);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->bad, 1000);
  EXPECT_EQ(report->errors.size(), kMaxReportedLines);
}

TEST(Transfer, MergeStoresKeepsTheBetter) {
  MemoryStore from, to;
  ASSERT_TRUE(from.Put(std::vector<Record>{MakeRecord(1, 1, 5), MakeRecord(1, 2, 20)}).ok());
  ASSERT_TRUE(to.Put(std::vector<Record>{MakeRecord(1, 1, 9), MakeRecord(1, 2, 9)}).ok());
  auto report = MergeStores(from, {}, to);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->counts.replaced, 1);
  EXPECT_EQ(report->counts.kept, 1);
  EXPECT_EQ((*to.TopK(MakeKey(1), 2))[1].median_us, 9);
}

}  // namespace
}  // namespace temper::db
