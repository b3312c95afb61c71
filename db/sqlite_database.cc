#include "db/sqlite_database.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "db/schema_steps.h"

namespace temper::db {
namespace {

// Neither a pipe, which would block, nor a folder, nor a device.
Status CheckFile(const std::string& path, bool may_be_missing) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return ErrnoStatus(errno, "cannot open " + path);
    if (!may_be_missing) {
      return NotFound("there is no database " + path +
                      ": check the path; `temper tune` and tuner-server make one");
    }
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
      return NotFound("cannot make " + path + ": there is no folder " + folder.string());
    }
    return OkStatus();
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(path + " is not a tuning database: it is not a regular file");
  }
  return OkStatus();
}

int64_t FileSize(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

Result<ScopedFd> LockForWriting(const std::string& path) {
  std::string lock_path = path + "-lock";
  ScopedFd fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) {
    if (errno == EACCES || errno == EROFS) {
      return PermissionDenied(path +
                              " is read-only: writing needs permission on the file and its folder");
    }
    return ErrnoStatus(errno, "cannot lock " + path + " by " + lock_path);
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "cannot lock " + path);
    char buffer[32] = {};
    ssize_t count = pread(fd.get(), buffer, sizeof(buffer) - 1, 0);
    auto pid = ParseUint64(StripWhitespace({buffer, count > 0 ? static_cast<size_t>(count) : 0}));
    return Unavailable(path + " is in use by another process" +
                       (pid.ok() ? " (" + std::to_string(*pid) + ")" : "") +
                       ": stop it, or ask it with --server instead of --db");
  }
  // For the message above; nothing depends on it.
  if (ftruncate(fd.get(), 0) == 0) {
    Status written = WriteAll(fd.get(), std::to_string(getpid()) + "\n");
    if (!written.ok()) return written.WithContext("cannot lock " + path);
  }
  return fd;
}

// Everything the file's schema says, as one text.
Result<std::string> SchemaText(Connection& connection) {
  TEMPER_ASSIGN_OR_RETURN(
      Statement rows, connection.Prepare("SELECT type || ' ' || name || ' ' || ifnull(sql, '') "
                                         "FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' "
                                         "ESCAPE '\\' ORDER BY type, name"));
  std::string text;
  for (;;) {
    TEMPER_ASSIGN_OR_RETURN(bool row, rows.Step());
    if (!row) return text;
    text += rows.Bytes(0) + "\n";
  }
}

Status ApplySteps(Connection& connection, int64_t from, int64_t to) {
  for (int64_t version = from; version < to; ++version) {
    TEMPER_RETURN_IF_ERROR(connection.Execute(kSchemaSteps[version]));
  }
  TEMPER_RETURN_IF_ERROR(
      connection.Execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
  return connection.Execute("PRAGMA user_version = " + std::to_string(to));
}

// The version of a database that is ours, known and unaltered; 0 of an empty file.
Result<int64_t> CheckedVersion(Connection& connection, const std::string& path) {
  TEMPER_ASSIGN_OR_RETURN(int64_t application, connection.QueryInt("PRAGMA application_id"));
  TEMPER_ASSIGN_OR_RETURN(int64_t version, connection.QueryInt("PRAGMA user_version"));
  TEMPER_ASSIGN_OR_RETURN(std::string schema, SchemaText(connection));
  if (application == 0 && version == 0 && schema.empty()) return 0;
  if (application != kApplicationId) {
    return InvalidArgument(path + " is not a tuning database but another program's");
  }
  if (version > kSchemaVersion) {
    return FailedPrecondition(path + " was written by a newer Temper (schema " +
                              std::to_string(version) + ", this program knows up to " +
                              std::to_string(kSchemaVersion) + "): use that newer program");
  }
  // A file from elsewhere may hold other tables, views or triggers under our names.
  TEMPER_ASSIGN_OR_RETURN(auto model, Connection::Open(":memory:", Connection::Mode::kCreate, 0));
  TEMPER_RETURN_IF_ERROR(ApplySteps(*model, 0, version));
  TEMPER_ASSIGN_OR_RETURN(std::string expected, SchemaText(*model));
  if (version < 1 || schema != expected) {
    return InvalidArgument(path + " is not a tuning database: its tables are not those of schema " +
                           std::to_string(version));
  }
  return version;
}

Status QuickCheck(Connection& connection, const std::string& path) {
  TEMPER_ASSIGN_OR_RETURN(std::string first, connection.QueryText("PRAGMA quick_check(1)"));
  if (first == "ok") return OkStatus();
  return DataLoss(path + " is damaged (" + first +
                  "): save what can be read with `temper db export` and import that into a new "
                  "database");
}

}  // namespace

Result<Database> OpenForWriting(const std::string& path, bool create, int busy_ms,
                                const Logger& log) {
  TEMPER_RETURN_IF_ERROR(CheckFile(path, create));
  bool is_new = FileSize(path) == 0;
  bool unclean = FileSize(path + "-wal") > 0;
  Database database;
  TEMPER_ASSIGN_OR_RETURN(database.lock, LockForWriting(path));
  TEMPER_ASSIGN_OR_RETURN(
      database.writer,
      Connection::Open(path, create ? Connection::Mode::kCreate : Connection::Mode::kWrite,
                       busy_ms));
  Connection& writer = *database.writer;
  TEMPER_ASSIGN_OR_RETURN(int64_t version, CheckedVersion(writer, path));
  if (!create && version == 0) {
    return InvalidArgument(path + " is not a tuning database: it is empty");
  }
  if (writer.ReadOnly()) {
    return PermissionDenied(path +
                            " is read-only: writing needs permission on the file and its folder");
  }
  TEMPER_ASSIGN_OR_RETURN(std::string mode, writer.QueryText("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return FailedPrecondition(path +
                              ": its file system has no shared memory, which the database "
                              "needs: put it on a local disk");
  }
  TEMPER_RETURN_IF_ERROR(writer.Execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  if (unclean) {
    log.Info("{} was not closed properly; checking it", path);
    TEMPER_RETURN_IF_ERROR(QuickCheck(writer, path));
  }
  if (version < kSchemaVersion) {
    TEMPER_RETURN_IF_ERROR(
        writer.Transaction([&] { return ApplySteps(writer, version, kSchemaVersion); }));
    if (!is_new) log.Info("{}: schema {} is now {}", path, version, kSchemaVersion);
  }
  TEMPER_ASSIGN_OR_RETURN(database.reader,
                          Connection::Open(path, Connection::Mode::kRead, busy_ms));
  return database;
}

Result<Database> OpenForReading(const std::string& path, int busy_ms, const Logger& log) {
  TEMPER_RETURN_IF_ERROR(CheckFile(path, /*may_be_missing=*/false));
  Database database;
  // Without a log nobody writes now, so that whoever closes last may put away what reading makes
  // beside the file; a log that is there is its writer's, or tells of a crash.
  const bool alone = !FileExists(path + "-wal");
  TEMPER_ASSIGN_OR_RETURN(
      database.reader,
      Connection::Open(path, alone ? Connection::Mode::kReadAlone : Connection::Mode::kRead,
                       busy_ms));
  auto version = CheckedVersion(*database.reader, path);
  if (version.status().code() == Code::kPermissionDenied && FileSize(path + "-wal") == 0) {
    // A reader needs a file beside the database, which a read-only folder refuses. With no log
    // there, nobody writes, and the file alone is the whole truth.
    TEMPER_ASSIGN_OR_RETURN(database.reader,
                            Connection::Open(path, Connection::Mode::kImmutable, busy_ms));
    version = CheckedVersion(*database.reader, path);
  }
  if (!version.ok()) return version.status();
  if (*version == 0) return InvalidArgument(path + " is not a tuning database: it is empty");
  if (*version < kSchemaVersion) {
    database.reader.reset();
    auto migrated = OpenForWriting(path, /*create=*/false, busy_ms, log);
    if (!migrated.ok()) {
      return migrated.status().WithContext("schema " + std::to_string(*version) +
                                           " must first be brought to " +
                                           std::to_string(kSchemaVersion));
    }
    database.reader = std::move(migrated->reader);
  }
  return database;
}

}  // namespace temper::db
