#include "db/sqlite_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "db/schema_steps.h"
#include "db/sqlite_database.h"
#include "db/sqlite_rows.h"

namespace temper::db {
namespace {

constexpr size_t kMaxProblems = 100;
constexpr int64_t kPageRows = 256;
constexpr int64_t kMaxRecordsInAPage = 4096 / 128;  // of a file; three hashes alone are 96 bytes
constexpr int64_t kHighestId = std::numeric_limits<int64_t>::max();

constexpr char kOfKey[] =
    "WHERE w.hash = ?1 AND t.fingerprint = ?2 AND r.threads = ?3 AND r.numerics = ?4 "
    "AND r.constants = ?5 ";

// The parts of a filter that are set, as conditions whose parameters start at ?1.
class FilterSql {
 public:
  explicit FilterSql(const RecordFilter& filter) : filter_(filter) {
    Add(filter.workload.has_value(), "w.hash");
    Add(filter.target.has_value(), "t.fingerprint");
    Add(filter.micro_architecture.has_value(), "t.micro_architecture");
    Add(filter.threads.has_value(), "r.threads");
    Add(filter.numerics.has_value(), "r.numerics");
    Add(filter.constants.has_value(), "r.constants");
  }

  // " AND a = ?1 AND b = ?2", or nothing.
  const std::string& conditions() const { return conditions_; }

  // The number of the first parameter that is free.
  int Bind(Statement& statement) const {
    int parameter = 1;
    if (filter_.workload) statement.BindHash(parameter++, *filter_.workload);
    if (filter_.target) statement.BindText(parameter++, *filter_.target);
    if (filter_.micro_architecture) statement.BindText(parameter++, *filter_.micro_architecture);
    if (filter_.threads) statement.BindInt(parameter++, *filter_.threads);
    if (filter_.numerics) statement.BindText(parameter++, *filter_.numerics);
    if (filter_.constants) statement.BindText(parameter++, Name(*filter_.constants));
    return parameter;
  }

 private:
  void Add(bool set, const char* column) {
    if (set) conditions_ += std::string(" AND ") + column + " = ?" + std::to_string(++count_);
  }

  const RecordFilter& filter_;
  std::string conditions_;
  int count_ = 0;
};

Result<Job> ReadJob(const Statement& row) {
  Job job;
  job.id = row.Bytes(0);
  job.model = row.Bytes(1);
  int64_t state = row.Int(2);
  if (state < 0 || state >= kJobStateCount) {
    return DataLoss("job " + job.id + " is damaged: there is no state " + std::to_string(state));
  }
  job.state = static_cast<JobState>(state);
  job.request = row.Bytes(3);
  job.progress = row.Bytes(4);
  job.message = row.Bytes(5);
  job.created_ms = row.Int(6);
  job.updated_ms = row.Int(7);
  return job;
}

constexpr char kSelectJobs[] =
    "SELECT id, model, state, request, progress, message, created_ms, updated_ms FROM job ";

constexpr char kSelectModels[] =
    "SELECT target, features_version, micro_architecture, programs, created_ms, bytes, checksum "
    "FROM cost_model ";

// Of a row of kSelectModels; DATA_LOSS where its checksum does not match.
Result<StoredModel> ReadModel(const Statement& row) {
  StoredModel model{row.Bytes(0), row.Bytes(2), static_cast<int32_t>(row.Int(1)),
                    row.Int(3),   row.Int(4),   row.Bytes(5)};
  if (row.Bytes(6) != ModelChecksum(model).AsBytes() || !ValidateModel(model).ok()) {
    return DataLoss("the cost model of target " + model.target +
                    " is damaged: its checksum does not match; tune to train a new one");
  }
  return model;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, Database database, Logger log)
      : path_(std::move(path)), database_(std::move(database)), log_(std::move(log)) {}

  ~SqliteStore() override {
    // The writer last: the last connection moves the log into the file, which a reader cannot.
    database_.reader.reset();
    database_.writer.reset();
  }

  Status Put(std::span<const Record> records) override {
    return Write(records, Policy::kMeasurement).status();
  }

  Result<MergeCounts> Merge(std::span<const Record> records) override {
    return Write(records, Policy::kImport);
  }

  Result<std::vector<Record>> TopK(const RecordKey& key, size_t count) override {
    static const std::string sql = std::string(kSelectRecords) + kOfKey +
                                   "AND r.outcome = 0 ORDER BY r.rank_us, r.schedule_hash";
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare(sql));
    BindKey(rows, key);
    return ReadIntact(rows, count);
  }

  Result<std::vector<Record>> Similar(const RecordKey& key, const std::string& micro_architecture,
                                      size_t count) override {
    static const std::string sql =
        std::string(kSelectRecords) +
        "WHERE w.hash = ?1 AND t.fingerprint <> ?2 AND r.threads = ?3 AND r.numerics = ?4 "
        "AND r.constants = ?5 AND t.micro_architecture = ?6 AND r.outcome = 0 ORDER BY r.rank_us, "
        "r.schedule_hash";
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare(sql));
    BindKey(rows, key);
    rows.BindText(6, micro_architecture);
    return ReadIntact(rows, count);
  }

  Result<std::unordered_set<Hash>> Tried(const RecordKey& key) override {
    static const std::string sql =
        std::string(
            "SELECT r.schedule_hash, r.outcome FROM record r JOIN workload w ON w.id = "
            "r.workload JOIN target t ON t.id = r.target ") +
        kOfKey;
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare(sql));
    BindKey(rows, key);
    std::unordered_set<Hash> tried;
    for (;;) {
      TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
      if (!row) return tried;
      auto hash = Hash::FromBytes(rows.Bytes(0));
      auto outcome = OutcomeFromInt(rows.Int(1));
      if (hash.ok() && outcome && IsConclusive(*outcome)) tried.insert(*hash);
    }
  }

  Status ForEach(const RecordFilter& filter,
                 const std::function<bool(const Record&)>& visit) override {
    return ForEachRow(filter, [&](const RecordRow& row) {
      if (row.intact) return visit(row.record);
      WarnOfDamage(row.id);
      return true;
    });
  }

  Result<Losses> Salvage(const RecordFilter& filter,
                         const std::function<bool(const Record&)>& visit) override {
    Losses lost;
    int64_t last = 0;
    bool more = true;
    const auto take = [&](const RecordRow& row) {
      last = row.id;
      if (row.intact) return more = visit(row.record);
      lost.Add(row.id);
      return true;
    };
    const Status read = ForEachRow(filter, take);
    if (read.ok()) return lost;
    if (read.code() != Code::kDataLoss) return read;
    // The table's order is broken somewhere behind `last`: every record is sought by its number.
    const int64_t highest = HighestRecord();
    for (int64_t id = last + 1; id <= highest && more; ++id) {
      std::vector<RecordRow> row;
      const Status found = ReadPage(filter, id - 1, id, row);
      if (!found.ok() && found.code() != Code::kDataLoss) return found;
      if (!row.empty() && row[0].id == id) {
        take(row[0]);
      } else if (!found.ok()) {
        lost.Add(id);
      }
    }
    return lost;
  }

  Result<std::vector<KeySummary>> Summaries(const RecordFilter& filter) override {
    FilterSql conditions(filter);
    std::string sql =
        "SELECT w.hash, t.fingerprint, r.threads, r.numerics, r.constants, count(*), "
        "sum(r.outcome = 0), "
        "max(r.id) FROM record r JOIN workload w ON w.id = r.workload JOIN target t ON t.id = "
        "r.target WHERE 1" +
        conditions.conditions() +
        " GROUP BY w.hash, t.fingerprint, r.threads, r.numerics, r.constants ORDER BY 1, 2, 3, 4, "
        "5";
    std::vector<std::pair<KeySummary, int64_t>> found;
    {
      std::lock_guard lock(read_mutex_);
      TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare(sql));
      conditions.Bind(rows);
      for (;;) {
        TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
        if (!row) break;
        auto workload = Hash::FromBytes(rows.Bytes(0));
        auto constants = ParseConstants(rows.Bytes(4));
        if (!workload.ok() || !constants) continue;
        KeySummary summary;
        summary.key = {*workload, rows.Bytes(1), static_cast<int32_t>(rows.Int(2)), rows.Bytes(3),
                       *constants};
        summary.trials = rows.Int(5);
        summary.ok = rows.Int(6);
        found.emplace_back(std::move(summary), rows.Int(7));
      }
    }
    std::vector<KeySummary> summaries;
    for (auto& [summary, newest] : found) {
      TEMPER_RETURN_IF_ERROR(Describe(newest, summary));
      TEMPER_ASSIGN_OR_RETURN(summary.best, Best(summary.key));
      summaries.push_back(std::move(summary));
    }
    return summaries;
  }

  Result<StoreStats> Stats() override {
    StoreStats stats;
    std::lock_guard lock(read_mutex_);
    Connection& reader = *database_.reader;
    {
      TEMPER_ASSIGN_OR_RETURN(
          Statement rows, reader.Prepare("SELECT outcome, count(*) FROM record GROUP BY outcome"));
      for (;;) {
        TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
        if (!row) break;
        stats.records += rows.Int(1);
        auto outcome = OutcomeFromInt(rows.Int(0));
        if (outcome) stats.outcomes[static_cast<size_t>(*outcome)] = rows.Int(1);
      }
    }
    TEMPER_ASSIGN_OR_RETURN(stats.workloads, reader.QueryInt("SELECT count(*) FROM workload"));
    TEMPER_ASSIGN_OR_RETURN(stats.targets, reader.QueryInt("SELECT count(*) FROM target"));
    for (const char* suffix : {"", "-wal"}) {
      struct stat info;
      if (stat((path_ + suffix).c_str(), &info) == 0) stats.bytes += info.st_size;
    }
    stats.schema_version = kSchemaVersion;
    return stats;
  }

  Result<CheckReport> Check() override {
    CheckReport report;
    {
      std::lock_guard lock(read_mutex_);
      TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare("PRAGMA quick_check(100)"));
      for (;;) {
        Result<bool> row = rows.Step();
        if (!row.ok()) report.problems.push_back(row.status().message());
        if (!row.ok() || !*row) break;
        std::string line = rows.Bytes(0);
        if (line != "ok") report.problems.push_back(line);
      }
    }
    Status read = ForEachRow({}, [&](const RecordRow& row) {
      ++report.records;
      if (!row.intact) {
        report.problems.push_back("record " + std::to_string(row.id) +
                                  " is damaged: its checksum does not match");
      }
      return report.problems.size() < kMaxProblems;
    });
    if (!read.ok()) report.problems.push_back(read.message());
    Status models = CheckModels(report.problems);
    if (!models.ok()) report.problems.push_back(models.message());
    if (report.problems.size() > kMaxProblems) report.problems.resize(kMaxProblems);
    return report;
  }

  Status PutJob(const Job& job) override {
    TEMPER_RETURN_IF_ERROR(ValidateJob(job));
    return Commit([&](Connection& writer) -> Status {
      TEMPER_ASSIGN_OR_RETURN(
          Statement put,
          writer.Prepare("INSERT INTO job (id, model, state, request, progress, message, "
                         "created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                         "ON CONFLICT (id) DO NOTHING"));
      put.BindText(1, job.id).BindText(2, job.model).BindInt(3, static_cast<int64_t>(job.state));
      put.BindBlob(4, job.request).BindBlob(5, job.progress).BindText(6, job.message);
      put.BindInt(7, job.created_ms).BindInt(8, job.updated_ms);
      TEMPER_RETURN_IF_ERROR(put.Run());
      if (writer.Changes() == 0) return AlreadyExists("there is a job " + job.id + " already");
      return OkStatus();
    });
  }

  Status UpdateJob(const std::string& id, JobState state, const std::string& progress,
                   const std::string& message, int64_t updated_ms) override {
    Job values{id, "", state, "", progress, message, 0, updated_ms};
    TEMPER_RETURN_IF_ERROR(ValidateJob(values));
    return Commit([&](Connection& writer) -> Status {
      TEMPER_ASSIGN_OR_RETURN(Statement update,
                              writer.Prepare("UPDATE job SET state = ?2, progress = ?3, message = "
                                             "?4, updated_ms = ?5 WHERE id = ?1"));
      update.BindText(1, id).BindInt(2, static_cast<int64_t>(state)).BindBlob(3, progress);
      update.BindText(4, message).BindInt(5, updated_ms);
      TEMPER_RETURN_IF_ERROR(update.Run());
      return writer.Changes() == 0 ? NoJob(id) : OkStatus();
    });
  }

  Result<Job> GetJob(const std::string& id) override {
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(Statement rows,
                            database_.reader->Prepare(std::string(kSelectJobs) + "WHERE id = ?1"));
    rows.BindText(1, id);
    TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
    if (!row) return NoJob(id);
    return ReadJob(rows);
  }

  Result<std::vector<Job>> ListJobs(bool unfinished_only) override {
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(
        Statement rows,
        database_.reader->Prepare(std::string(kSelectJobs) + "WHERE state <= ?1 ORDER BY number"));
    rows.BindInt(1,
                 static_cast<int64_t>(unfinished_only ? JobState::kRunning : JobState::kCancelled));
    std::vector<Job> jobs;
    for (;;) {
      TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
      if (!row) return jobs;
      TEMPER_ASSIGN_OR_RETURN(Job job, ReadJob(rows));
      jobs.push_back(std::move(job));
    }
  }

  Status DeleteJob(const std::string& id) override {
    return Commit([&](Connection& writer) -> Status {
      TEMPER_ASSIGN_OR_RETURN(Statement remove, writer.Prepare("DELETE FROM job WHERE id = ?1"));
      remove.BindText(1, id);
      TEMPER_RETURN_IF_ERROR(remove.Run());
      return writer.Changes() == 0 ? NoJob(id) : OkStatus();
    });
  }

  Status PutModel(const StoredModel& model) override {
    TEMPER_RETURN_IF_ERROR(ValidateModel(model));
    return Commit([&](Connection& writer) -> Status {
      const Hash checksum = ModelChecksum(model);
      TEMPER_ASSIGN_OR_RETURN(
          Statement put,
          writer.Prepare("INSERT OR REPLACE INTO cost_model (target, features_version, "
                         "micro_architecture, programs, created_ms, bytes, checksum) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
      put.BindText(1, model.target).BindInt(2, model.features_version);
      put.BindText(3, model.micro_architecture).BindInt(4, model.programs);
      put.BindInt(5, model.created_ms).BindBlob(6, model.bytes).BindHash(7, checksum);
      return put.Run();
    });
  }

  Result<std::optional<StoredModel>> GetModel(const std::string& target,
                                              const std::string& micro_architecture,
                                              int32_t features_version) override {
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(
        Statement rows,
        database_.reader->Prepare(
            std::string(kSelectModels) +
            "WHERE features_version = ?3 AND (target = ?1 OR micro_architecture = ?2) "
            "ORDER BY target = ?1 DESC, created_ms DESC"));
    rows.BindText(1, target).BindText(2, micro_architecture).BindInt(3, features_version);
    TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
    if (!row) return std::optional<StoredModel>();
    TEMPER_ASSIGN_OR_RETURN(StoredModel model, ReadModel(rows));
    return std::optional(std::move(model));
  }

 private:
  // A write that waits for the next commit.
  struct Pending {
    std::function<Status(Connection&)> work;
    Status status;
    bool done = false;
  };

  static Status NoJob(const std::string& id) { return NotFound("there is no job " + id); }

  static void BindKey(Statement& statement, const RecordKey& key) {
    statement.BindHash(1, key.workload).BindText(2, key.target);
    statement.BindInt(3, key.threads).BindText(4, key.numerics);
    statement.BindText(5, Name(key.constants));
  }

  void WarnOfDamage(int64_t id) const {
    log_.Warning("{}: record {} is damaged and is not used; see `temper db check`", path_, id);
  }

  Result<std::vector<Record>> ReadIntact(Statement& rows, size_t count) const {
    std::vector<Record> records;
    while (records.size() < count) {
      TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
      if (!row) break;
      RecordRow read = ReadRecord(rows);
      if (read.intact) {
        records.push_back(std::move(read.record));
      } else {
        WarnOfDamage(read.id);
      }
    }
    return records;
  }

  // The rows that match with numbers from `after` + 1 to `until`, at most kPageRows.
  Status ReadPage(const RecordFilter& filter, int64_t after, int64_t until,
                  std::vector<RecordRow>& page) {
    FilterSql conditions(filter);
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(
        Statement rows,
        database_.reader->Prepare(std::string(kSelectRecords) + "WHERE r.id > ?6 AND r.id <= ?8" +
                                  conditions.conditions() + " ORDER BY r.id LIMIT ?7"));
    conditions.Bind(rows);
    rows.BindInt(6, after).BindInt(7, kPageRows).BindInt(8, until);
    for (;;) {
      TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
      if (!row) return OkStatus();
      page.push_back(ReadRecord(rows));
    }
  }

  // Reads page by page, so that no long reading keeps the log from being emptied, and `visit` may
  // use the store. What was read before an error is visited.
  Status ForEachRow(const RecordFilter& filter,
                    const std::function<bool(const RecordRow&)>& visit) {
    int64_t last_id = 0;
    for (;;) {
      std::vector<RecordRow> page;
      const Status read = ReadPage(filter, last_id, kHighestId, page);
      for (const RecordRow& row : page) {
        if (row.id <= last_id) return DataLoss(path_ + " is damaged: its records are out of order");
        last_id = row.id;
        if (!visit(row)) return OkStatus();
      }
      if (!read.ok()) return read;
      if (page.empty()) return OkStatus();
    }
  }

  // The number of the last record of a damaged file: as the table says, else as its index does,
  // else as many as fit in the file.
  int64_t HighestRecord() {
    std::lock_guard lock(read_mutex_);
    Connection& reader = *database_.reader;
    const auto pages = reader.QueryInt("PRAGMA page_count");
    const int64_t fitting = pages.ok() ? *pages * kMaxRecordsInAPage : 0;
    if (auto last = reader.QueryInt("SELECT max(id) FROM record NOT INDEXED"); last.ok()) {
      return std::min(*last, fitting);
    }
    int64_t highest = 0;
    for (const char* order : {"ASC", "DESC"}) {
      auto rows = reader.Prepare(
          std::string("SELECT id FROM record INDEXED BY record_by_time ORDER BY workload ") +
          order);
      if (!rows.ok()) continue;
      Result<bool> row = rows->Step();
      for (; row.ok() && *row; row = rows->Step()) highest = std::max(highest, rows->Int(0));
      if (row.ok()) return std::min(highest, fitting);
    }
    return fitting;
  }

  Status CheckModels(std::vector<std::string>& problems) {
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(Statement rows, database_.reader->Prepare(kSelectModels));
    for (;;) {
      TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
      if (!row) return OkStatus();
      auto model = ReadModel(rows);
      if (!model.ok()) problems.push_back(model.status().message());
    }
  }

  // Fills what a summary says of its key's workload and target.
  Status Describe(int64_t record_id, KeySummary& summary) {
    std::lock_guard lock(read_mutex_);
    TEMPER_ASSIGN_OR_RETURN(
        Statement rows,
        database_.reader->Prepare("SELECT r.task_name, t.micro_architecture, r.flops FROM record r "
                                  "JOIN target t ON t.id = r.target WHERE r.id = ?1"));
    rows.BindInt(1, record_id);
    TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
    if (!row) return OkStatus();
    summary.task_name = rows.Bytes(0);
    summary.micro_architecture = rows.Bytes(1);
    summary.flops = rows.Real(2);
    return OkStatus();
  }

  Result<MergeCounts> Write(std::span<const Record> records, Policy policy) {
    for (size_t i = 0; i < records.size(); ++i) {
      TEMPER_RETURN_IF_ERROR(
          ValidateRecord(records[i]).WithContext("record " + std::to_string(i + 1)));
    }
    MergeCounts counts;
    TEMPER_RETURN_IF_ERROR(Commit([&](Connection& writer) -> Status {
      for (const Record& record : records) {
        TEMPER_ASSIGN_OR_RETURN(Written written, WriteRecord(writer, record, policy));
        if (written == Written::kAdded) ++counts.added;
        if (written == Written::kReplaced) ++counts.replaced;
        if (written == Written::kKept) ++counts.kept;
      }
      return OkStatus();
    }));
    return counts;
  }

  // Group commit: the first to come commits for all who came meanwhile; each returns when its work
  // is on disk, or with its own error, which undoes only its own work.
  Status Commit(std::function<Status(Connection&)> work) {
    if (database_.writer == nullptr) {
      return FailedPrecondition(path_ + " was opened for reading only");
    }
    Pending mine{std::move(work), {}, false};
    std::unique_lock lock(queue_mutex_);
    queue_.push_back(&mine);
    queue_changed_.wait(lock, [&] { return mine.done || !committing_; });
    if (mine.done) return mine.status;
    committing_ = true;
    std::vector<Pending*> group = std::exchange(queue_, {});
    lock.unlock();
    CommitGroup(group);
    lock.lock();
    for (Pending* pending : group) pending->done = true;
    committing_ = false;
    queue_changed_.notify_all();
    return mine.status;
  }

  void CommitGroup(const std::vector<Pending*>& group) {
    Connection& writer = *database_.writer;
    Status committed = writer.Transaction([&]() -> Status {
      for (Pending* pending : group) {
        TEMPER_RETURN_IF_ERROR(writer.Execute("SAVEPOINT part"));
        pending->status = pending->work(writer);
        if (!pending->status.ok()) TEMPER_RETURN_IF_ERROR(writer.Execute("ROLLBACK TO part"));
        TEMPER_RETURN_IF_ERROR(writer.Execute("RELEASE part"));
      }
      return OkStatus();
    });
    if (committed.ok()) return;
    for (Pending* pending : group) {
      if (pending->status.ok()) pending->status = committed;
    }
  }

  const std::string path_;
  Database database_;
  const Logger log_;
  std::mutex read_mutex_;  // of database_.reader

  std::mutex queue_mutex_;  // of the three below; database_.writer is its committer's
  std::condition_variable queue_changed_;
  std::vector<Pending*> queue_;
  bool committing_ = false;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                               const SqliteOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(Database database,
                          OpenForWriting(path, options.create, options.busy_ms, options.log));
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(path, std::move(database), options.log));
}

Result<std::unique_ptr<Store>> OpenSqliteStoreReadOnly(const std::string& path,
                                                       const SqliteOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(Database database, OpenForReading(path, options.busy_ms, options.log));
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(path, std::move(database), options.log));
}

}  // namespace temper::db
