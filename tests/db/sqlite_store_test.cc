// What is special about the store on disk: crashes, damage, locks, versions.
#include "db/sqlite_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "base/file.h"
#include "base/rng.h"
#include "db/schema_steps.h"
#include "db/sqlite.h"
#include "db/sqlite_database.h"
#include "tests/db/make_record.h"

namespace temper::db {
namespace {

SqliteOptions Create() {
  SqliteOptions options;
  options.create = true;
  options.busy_ms = 50;
  return options;
}

class SqliteStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> Open() {
    auto store = OpenSqliteStore(path_, Create());
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return store.ok() ? std::move(*store) : nullptr;
  }

  void Fill(int records) {
    auto store = Open();
    std::vector<Record> batch;
    for (int i = 0; i < records; ++i) batch.push_back(MakeRecord(1, i, 10 + i));
    ASSERT_TRUE(store->Put(batch).ok());
  }

  // Runs statements on the closed file, as another program would.
  void Sql(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << message << ": " << sql;
    sqlite3_close(handle);
  }

  // One message, that names the file; the same for reading unless told otherwise.
  void ExpectRefused(Code code, const std::string& part, bool reading_too = true) {
    auto check = [&](const Status& status) {
      EXPECT_EQ(status.code(), code) << status.ToString();
      EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    };
    check(OpenSqliteStore(path_, Create()).status());
    if (reading_too) check(OpenSqliteStoreReadOnly(path_, Create()).status());
  }

  ScopedTempDir dir_ = *ScopedTempDir::Create("temper_sqlite_test.");
  std::string path_ = dir_.File("tuning.db");
};

TEST_F(SqliteStoreTest, RecordsAndJobsOutliveTheProcess) {
  {
    auto store = Open();
    ASSERT_TRUE(store->Put(std::vector<Record>{MakeRecord(1, 1, 10)}).ok());
    ASSERT_TRUE(store->PutJob({.id = "j", .model = "m"}).ok());
  }
  EXPECT_FALSE(FileExists(path_ + "-wal")) << "closing leaves one file";
  auto store = Open();
  EXPECT_EQ(**store->Best(MakeKey(1)), MakeRecord(1, 1, 10));
  EXPECT_EQ(store->ListJobs(true)->size(), 1u);
  EXPECT_EQ(store->Stats()->schema_version, kSchemaVersion);
  EXPECT_GT(store->Stats()->bytes, 0);
}

// A child puts and tells us after each acknowledgement; it is killed in the middle. All that it
// told must be there.
TEST_F(SqliteStoreTest, NothingAcknowledgedIsLostByAKill) {
  for (int round = 0; round < 3; ++round) {
    Pipe acks = *MakePipe();
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = OpenSqliteStore(path_, Create());
      if (!store.ok()) _exit(1);
      for (int i = 0;; ++i) {
        int schedule = round * 1000000 + i;
        if (!(*store)->Put(std::vector<Record>{MakeRecord(1, schedule, 10)}).ok()) _exit(2);
        if (!WriteAll(acks.write.get(), {reinterpret_cast<char*>(&schedule), sizeof(schedule)})
                 .ok()) {
          _exit(3);
        }
      }
    }
    acks.write.Reset();
    std::vector<int> acknowledged;
    int schedule;
    while (acknowledged.size() < 40 &&
           read(acks.read.get(), &schedule, sizeof(schedule)) == sizeof(schedule)) {
      acknowledged.push_back(schedule);
    }
    kill(child, SIGKILL);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed with " << WEXITSTATUS(status);
    while (read(acks.read.get(), &schedule, sizeof(schedule)) == sizeof(schedule)) {
      acknowledged.push_back(schedule);
    }
    auto store = Open();
    auto tried = store->Tried(MakeKey(1));
    ASSERT_TRUE(tried.ok());
    for (int a : acknowledged) {
      EXPECT_TRUE(tried->contains(Sha256("schedule " + std::to_string(a)))) << a;
    }
    EXPECT_TRUE(store->Check()->problems.empty());
  }
}

TEST_F(SqliteStoreTest, ASecondWriterIsRefusedAndReadersAreNot) {
  auto store = Open();
  ASSERT_TRUE(store->Put(std::vector<Record>{MakeRecord(1, 1, 10)}).ok());
  Status second = OpenSqliteStore(path_, Create()).status();
  EXPECT_EQ(second.code(), Code::kUnavailable);
  EXPECT_NE(second.message().find("in use by another process (" + std::to_string(getpid()) + ")"),
            std::string::npos)
      << second.message();
  auto reader = OpenSqliteStoreReadOnly(path_, Create());
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EXPECT_EQ((*(*reader)->Best(MakeKey(1)))->median_us, 10);
  ASSERT_TRUE(store->Put(std::vector<Record>{MakeRecord(1, 2, 5)}).ok());
  EXPECT_EQ((*(*reader)->Best(MakeKey(1)))->median_us, 5) << "a reader follows the writer";
  store.reset();
  EXPECT_TRUE(Open() != nullptr) << "the lock goes with its holder";
}

TEST_F(SqliteStoreTest, AnotherProgramsLockIsAMessageNotAWaitForever) {
  auto store = Open();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  Status status = store->Put(std::vector<Record>{MakeRecord(1, 1, 10)});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find(path_ + " is locked by another program"), std::string::npos);
  EXPECT_EQ(store->Stats()->records, 0);
  sqlite3_close(other);
  EXPECT_TRUE(store->Put(std::vector<Record>{MakeRecord(1, 1, 10)}).ok()) << "and works after it";
}

TEST_F(SqliteStoreTest, ReadersDoNotWrite) {
  Fill(2);
  auto reader = OpenSqliteStoreReadOnly(path_, Create());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Put(std::vector<Record>{MakeRecord(1, 1, 10)}).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ((*reader)->PutJob({.id = "j"}).code(), Code::kFailedPrecondition);
  EXPECT_EQ((*reader)->Stats()->records, 2);
}

TEST_F(SqliteStoreTest, MissingFilesAndFolders) {
  SqliteOptions must_exist = Create();
  must_exist.create = false;
  EXPECT_EQ(OpenSqliteStore(path_, must_exist).status().code(), Code::kNotFound);
  EXPECT_EQ(OpenSqliteStoreReadOnly(path_, Create()).status().code(), Code::kNotFound);
  EXPECT_FALSE(FileExists(path_));
  path_ = dir_.File("no/such/folder.db");
  Status status = OpenSqliteStore(path_, Create()).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("there is no folder"), std::string::npos);
}

TEST_F(SqliteStoreTest, WhatIsNotOursIsRefusedAndLeftAlone) {
  std::string text =
      "This is a text file that is long enough to have a header of SQLite's size, "
      "which is a hundred bytes.\n";
  ASSERT_TRUE(WriteFileAtomic(path_, text).ok());
  ExpectRefused(Code::kInvalidArgument, "is not a tuning database");
  EXPECT_EQ(*ReadFile(path_), text);

  ASSERT_EQ(unlink(path_.c_str()), 0);
  Sql("CREATE TABLE notes (text)");
  std::string before = *ReadFile(path_);
  ExpectRefused(Code::kInvalidArgument, "another program's");
  EXPECT_TRUE(*ReadFile(path_) == before);

  path_ = dir_.path();
  ExpectRefused(Code::kInvalidArgument, "not a regular file");
  path_ = dir_.File("fifo");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused(Code::kInvalidArgument, "not a regular file");
}

TEST_F(SqliteStoreTest, AnEmptyFileIsANewDatabaseForWritersOnly) {
  ASSERT_TRUE(WriteFileAtomic(path_, "").ok());
  EXPECT_EQ(OpenSqliteStoreReadOnly(path_, Create()).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(Open() != nullptr);
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  Fill(1);
  Sql("PRAGMA user_version = " + std::to_string(kSchemaVersion + 1));
  ExpectRefused(Code::kFailedPrecondition, "was written by a newer Temper");
}

TEST_F(SqliteStoreTest, OlderSchemasMigrateForward) {
  // As a program of schema 1 left it, with a record in it.
  ASSERT_GE(kSchemaVersion, 2);
  Sql(std::string(kSchemaSteps[0]) + "PRAGMA application_id = " + std::to_string(kApplicationId) +
      "; PRAGMA user_version = 1;");
  {
    auto reader = OpenSqliteStoreReadOnly(path_, Create());
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    EXPECT_EQ((*reader)->Stats()->schema_version, kSchemaVersion);
  }
  auto store = Open();
  EXPECT_TRUE(store->PutJob({.id = "j"}).ok());
  EXPECT_TRUE(store->Put(std::vector<Record>{MakeRecord(1, 1, 10)}).ok());
}

TEST_F(SqliteStoreTest, RecordsOfSchemaThreeAreColdOnes) {
  Fill(3);
  // Back to the table of schema 3 with the rows as they are: a cold record's checksum has not
  // changed since then.
  const std::string first(kSchemaSteps[0]);
  const size_t begin = first.find("CREATE TABLE record (");
  Sql("ALTER TABLE record RENAME TO newer; DROP INDEX record_by_time;" + first.substr(begin) +
      "INSERT INTO record SELECT id, workload, target, threads, numerics, schedule_hash, outcome, "
      "rank_us, schedule, task_name, flops, detail, median_us, samples, spread, control_us, drift, "
      "worker, compiler_version, features_version, seed, unsandboxed, created_ms, checksum "
      "FROM newer; DROP TABLE newer; PRAGMA user_version = 3;");
  auto store = Open();
  ASSERT_TRUE(store != nullptr);
  EXPECT_EQ(store->Stats()->schema_version, kSchemaVersion);
  EXPECT_TRUE(store->Check()->problems.empty());
  Record r = MakeRecord(1, 0, 10);
  EXPECT_EQ(*store->TopK(r.key, 1), (std::vector<Record>{r}));
  r.key.constants = Constants::kWarm;
  ASSERT_TRUE(store->Put(std::vector<Record>{r}).ok());
  EXPECT_EQ(store->TopK(r.key, 9)->size(), 1u);
  r.key.constants = Constants::kCold;
  EXPECT_EQ(store->TopK(r.key, 9)->size(), 3u);
}

TEST_F(SqliteStoreTest, AlteredTablesAreRefused) {
  Fill(1);
  Sql("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END");
  ExpectRefused(Code::kInvalidArgument, "its tables are not those of schema");
}

TEST_F(SqliteStoreTest, ADamagedRowIsAMissAndIsReported) {
  Fill(3);  // 10, 11, 12 us
  Sql("UPDATE record SET schedule = 'schedule 7' WHERE median_us = 10");
  std::string logged;
  SqliteOptions options = Create();
  options.log = Logger::To([&](LogLevel, std::string_view line) { logged = line; });
  auto store = OpenSqliteStore(path_, options);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*(*store)->Best(MakeKey(1)))->median_us, 11);
  EXPECT_NE(logged.find("record 1 is damaged"), std::string::npos) << logged;
  auto report = (*store)->Check();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->records, 3);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_NE(report->problems[0].find("record 1 is damaged"), std::string::npos);
  // Measuring it again mends it.
  ASSERT_TRUE((*store)->Put(std::vector<Record>{MakeRecord(1, 0, 10)}).ok());
  EXPECT_EQ((*(*store)->Best(MakeKey(1)))->median_us, 10);
}

TEST_F(SqliteStoreTest, ChecksumsCoverEveryColumn) {
  Fill(1);
  const std::string spoilers[] = {
      "UPDATE record SET rank_us = rank_us / 2",
      "UPDATE record SET flops = flops + 1",
      "UPDATE record SET task_name = 'x'",
      "UPDATE record SET detail = 'x'",
      "UPDATE record SET samples = x'00000000'",
      "UPDATE record SET spread = spread + 1",
      "UPDATE record SET control_us = control_us + 1",
      "UPDATE record SET median_us = median_us / 2, rank_us = rank_us / 2",
      "UPDATE record SET drift = 2, rank_us = rank_us / 2",
      "UPDATE record SET worker = 'x'",
      "UPDATE record SET compiler_version = 'x'",
      "UPDATE record SET features_version = features_version + 1",
      "UPDATE record SET seed = seed + 1",
      "UPDATE record SET unsandboxed = 0",
      "UPDATE record SET created_ms = created_ms + 1",
      "UPDATE record SET threads = 2",
      "UPDATE record SET numerics = 'x'",
      "UPDATE record SET schedule_hash = zeroblob(32)",
      "UPDATE target SET fingerprint = 'x'",
      "UPDATE target SET micro_architecture = 'x'",
      "UPDATE target SET text = 'x'",
      "UPDATE workload SET text = 'x'",
      "UPDATE workload SET hash = zeroblob(32)",
  };
  std::string sound = *ReadFile(path_);
  for (const std::string& spoiler : spoilers) {
    ASSERT_TRUE(WriteFileAtomic(path_, sound).ok());
    Sql(spoiler);
    auto store = Open();
    EXPECT_EQ(store->Check()->problems.size(), 1u) << spoiler;
    int seen = 0;
    EXPECT_TRUE(store->ForEach({}, [&](const Record&) { return ++seen > 0; }).ok());
    EXPECT_EQ(seen, 0) << spoiler;
  }
}

TEST_F(SqliteStoreTest, DamagedPagesGiveOneMessage) {
  Fill(500);
  std::string content = *ReadFile(path_);
  constexpr size_t kPage = 4096;
  ASSERT_GT(content.size(), 40 * kPage);
  // All but the first pages, which hold the schema.
  std::fill(content.begin() + 10 * kPage, content.end(), '\xa5');
  ASSERT_TRUE(WriteFileAtomic(path_, content).ok());
  auto store = OpenSqliteStoreReadOnly(path_, Create());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  Status status = (*store)->ForEach({}, [](const Record&) { return true; });
  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
  EXPECT_NE(status.message().find(path_ + " is damaged"), std::string::npos);
  auto report = (*store)->Check();
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->problems.empty());
}

// Every page damaged in turn: what is read was put, and nothing that is lost goes uncounted.
TEST_F(SqliteStoreTest, SalvageReadsAroundDamage) {
  constexpr int kRecords = 300;
  Fill(kRecords);
  const std::string sound = *ReadFile(path_);
  constexpr size_t kPage = 4096;
  const size_t pages = sound.size() / kPage;
  int opened = 0;
  int64_t most_lost = 0;
  for (size_t page = 1; page < pages; page += 3) {
    std::string content = sound;
    std::fill_n(content.begin() + page * kPage, kPage, '\xa5');
    ASSERT_TRUE(WriteFileAtomic(path_, content).ok());
    auto store = OpenSqliteStoreReadOnly(path_, Create());
    if (!store.ok()) continue;
    ++opened;
    std::set<double> seen;
    auto lost = (*store)->Salvage({}, [&](const Record& r) {
      EXPECT_EQ(r, MakeRecord(1, static_cast<int>(r.median_us) - 10, r.median_us));
      EXPECT_TRUE(seen.insert(r.median_us).second);
      return true;
    });
    if (!lost.ok()) continue;  // a page of the workload or target: nothing can be read
    EXPECT_GE(static_cast<int64_t>(seen.size()) + lost->count, kRecords) << "page " << page;
    EXPECT_LE(lost->first, lost->last);
    if (!seen.empty()) most_lost = std::max(most_lost, kRecords - int64_t(seen.size()));
  }
  EXPECT_GT(opened, 10);
  EXPECT_GT(most_lost, 0);
  EXPECT_LT(most_lost, 40) << "a page holds few records";
}

TEST_F(SqliteStoreTest, SalvageOfASoundStoreLosesNothing) {
  Fill(300);
  auto store = Open();
  int seen = 0;
  auto lost = store->Salvage({}, [&](const Record&) { return ++seen < 270; });
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->count, 0);
  EXPECT_EQ(seen, 270);
}

TEST_F(SqliteStoreTest, ReadersLeaveNoFilesBehind) {
  Fill(3);
  unlink((path_ + "-lock").c_str());
  {
    auto store = OpenSqliteStoreReadOnly(path_, Create());
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE((*store)->Best(MakeKey(1)).ok());
    EXPECT_EQ((*store)->Put(std::vector<Record>{MakeRecord(1, 9, 1)}).code(),
              Code::kFailedPrecondition);
    auto second = OpenSqliteStoreReadOnly(path_, Create());
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE((*second)->Stats().ok());
  }
  for (const char* suffix : {"-wal", "-shm", "-lock", "-journal"}) {
    EXPECT_FALSE(FileExists(path_ + suffix)) << suffix;
  }
  // A reader that outlives the writer it met keeps all that the writer committed.
  auto reader = OpenSqliteStoreReadOnly(path_, Create());
  Open()->Put(std::vector<Record>{MakeRecord(1, 9, 1)}).ok();
  EXPECT_EQ((*(*reader)->Best(MakeKey(1)))->median_us, 1);
  reader->reset();
  EXPECT_FALSE(FileExists(path_ + "-wal"));
  EXPECT_EQ((*Open()->Best(MakeKey(1)))->median_us, 1);
}

TEST_F(SqliteStoreTest, ATruncatedFileGivesOneMessage) {
  Fill(500);
  ASSERT_EQ(truncate(path_.c_str(), 5000), 0);
  auto store = OpenSqliteStoreReadOnly(path_, Create());
  Status status =
      store.ok() ? (*store)->ForEach({}, [](const Record&) { return true; }) : store.status();
  EXPECT_EQ(status.code(), Code::kDataLoss) << status.ToString();
}

// Whatever bytes are damaged, no record is served that was not put, and nothing crashes.
TEST_F(SqliteStoreTest, RandomDamageNeverServesAWrongRecord) {
  Fill(40);
  const std::string sound = *ReadFile(path_);
  Rng rng(1);
  int refused = 0, served = 0;
  for (int round = 0; round < 150; ++round) {
    std::string content = sound;
    for (uint64_t i = 0, n = 1 + rng.Uniform(8); i < n; ++i) {
      // Half of the damage goes to the first page, where the schema is.
      size_t at = rng.Uniform(rng.Chance(0.5) ? 4096 : content.size());
      content[at] = static_cast<char>(rng.Next());
    }
    ASSERT_TRUE(WriteFileAtomic(path_, content).ok());
    auto store = OpenSqliteStoreReadOnly(path_, Create());
    if (!store.ok()) {
      ++refused;
      continue;
    }
    auto expect_original = [&](const Record& r) {
      EXPECT_EQ(r, MakeRecord(1, static_cast<int>(r.median_us) - 10, r.median_us));
      ++served;
      return true;
    };
    Status read = (*store)->ForEach({}, expect_original);
    EXPECT_TRUE(read.ok() || read.code() == Code::kDataLoss) << read.ToString();
    auto top = (*store)->TopK(MakeKey(1), 5);
    if (top.ok()) {
      for (const Record& r : *top) expect_original(r);
    }
    EXPECT_TRUE((*store)->Check().ok());
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(served, 0);
}

TEST_F(SqliteStoreTest, AFullDiskIsOneMessageAndHarmsNothing) {
  Fill(1);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A limit on the size of files stands for the full disk.
    signal(SIGXFSZ, SIG_IGN);
    auto store = OpenSqliteStore(path_, Create());
    if (!store.ok()) _exit(1);
    rlimit limit{256 << 10, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    std::vector<Record> large;
    for (int i = 100; i < 1100; ++i) large.push_back(MakeRecord(1, i, 1));
    Status status = (*store)->Put(large);
    if (status.code() != Code::kResourceExhausted && status.code() != Code::kUnavailable) _exit(3);
    if (status.message().find(path_) != 0) _exit(4);
    auto best = (*store)->Best(MakeKey(1));
    if (!best.ok() || !*best || (*best)->median_us != 10) _exit(5);
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(6);
    _exit((*store)->Put(large).ok() ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto store = Open();
  EXPECT_EQ(store->Stats()->records, 1001);
  EXPECT_TRUE(store->Check()->problems.empty());
}

TEST_F(SqliteStoreTest, ADamagedModelIsRefusedByNameAndReported) {
  ASSERT_TRUE(Open()->PutModel({"t1", "zen5", 2, 300, 1000, "trees"}).ok());
  Sql("UPDATE cost_model SET bytes = CAST('treez' AS BLOB)");
  auto store = Open();
  Status status = store->GetModel("t1", "zen5", 2).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("the cost model of target t1 is damaged"), std::string::npos);
  EXPECT_EQ(store->Check()->problems, std::vector<std::string>{status.message()});
  ASSERT_TRUE(store->PutModel({"t1", "zen5", 2, 301, 1001, "new trees"}).ok());
  EXPECT_EQ((*store->GetModel("t1", "zen5", 2))->bytes, "new trees");
  EXPECT_TRUE(store->Check()->problems.empty());
}

TEST_F(SqliteStoreTest, ADamagedJobIsAnErrorNotAWrongState) {
  {
    ASSERT_TRUE(Open()->PutJob({.id = "j"}).ok());
  }
  Sql("UPDATE job SET state = -1");
  EXPECT_EQ(Open()->ListJobs(true).status().code(), Code::kDataLoss);
  EXPECT_EQ(Open()->GetJob("j").status().code(), Code::kDataLoss);
}

// Root may write anything, so another user tries.
TEST_F(SqliteStoreTest, ReadOnlyFilesAndFolders) {
  Fill(1);
  unlink((path_ + "-lock").c_str());
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0555), 0);
  auto as_nobody = [&](const std::function<int()>& body) {
    pid_t child = fork();
    if (child == 0) {
      if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(100);
      _exit(body());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
  };
  auto write = [&] {
    Status status = OpenSqliteStore(path_, Create()).status();
    if (status.code() != Code::kPermissionDenied) return 1;
    return status.message().find(path_ + " is read-only") == 0 ? 0 : 2;
  };
  auto read = [&] {
    auto store = OpenSqliteStoreReadOnly(path_, Create());
    if (!store.ok()) return 1;
    auto best = (*store)->Best(MakeKey(1));
    return best.ok() && best->has_value() ? 0 : 2;
  };
  EXPECT_EQ(as_nobody(write), 0) << "a read-only folder";
  EXPECT_EQ(as_nobody(read), 0) << "a read-only folder can be read";
  ASSERT_EQ(chmod(dir_.path().c_str(), 0777), 0);
  EXPECT_EQ(as_nobody(write), 0) << "a read-only file";
  EXPECT_EQ(as_nobody(read), 0) << "a read-only file can be read";
}

TEST_F(SqliteStoreTest, PathsWithCharactersOfUris) {
  path_ = dir_.File("a?b#c%20d.db");
  Fill(1);
  EXPECT_TRUE(FileExists(path_));
  EXPECT_EQ((*OpenSqliteStoreReadOnly(path_, Create()))->Stats()->records, 1);
}

}  // namespace
}  // namespace temper::db
