// The store in one SQLite file: the tuning database.
//
// One connection writes, in WAL mode with synchronous=FULL, and all checkpoints are its own;
// readers, in this process or others, are read-only. That also keeps clear of SQLite's WAL-reset
// bug (3.7.0 to 3.51.2), which needs two connections that write or checkpoint at the same time. (A
// reader that finds no writer tidies up when it is the last to close, under SQLite's exclusive
// lock.) A
// second writing process is refused. Writes that arrive together are committed together. Every row
// has a checksum: a row that does not match is a miss, reported to the log and by Check().
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "db/store.h"

namespace temper::db {

struct SqliteOptions {
  bool create = false;  // make the file if it does not exist
  int busy_ms = 5000;   // how long to wait for another process's lock
  Logger log;           // damaged rows, migrations
};

// For errors see OpenForWriting and OpenForReading in sqlite_database.h.
Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                               const SqliteOptions& options);

// For reading; what writes returns FAILED_PRECONDITION. Works while another process writes, and
// on files and folders that cannot be written.
Result<std::unique_ptr<Store>> OpenSqliteStoreReadOnly(const std::string& path,
                                                       const SqliteOptions& options);

}  // namespace temper::db
