// Opening the database file: which files are ours, which schema version they have, who may write.
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "db/sqlite.h"

namespace temper::db {

// "Tmpr": what the file says it is, after SQLite's own magic (PRAGMA application_id).
inline constexpr int64_t kApplicationId = 0x546d7072;

struct Database {
  // Held while we write: an flock of PATH-lock, so that a second writer is refused. Not of the file
  // itself: closing any descriptor of that would drop SQLite's own locks.
  ScopedFd lock;
  std::unique_ptr<Connection> writer;  // null: opened for reading
  std::unique_ptr<Connection> reader;
};

// Opens for writing, made if `create`, brought to the newest schema; or for reading. Errors, each
// one message with the path: NOT_FOUND, INVALID_ARGUMENT (not a tuning database),
// FAILED_PRECONDITION (a newer schema), PERMISSION_DENIED (read-only), UNAVAILABLE (in use),
// DATA_LOSS (damaged; after an unclean end the whole structure is checked).
Result<Database> OpenForWriting(const std::string& path, bool create, int busy_ms,
                                const Logger& log);
Result<Database> OpenForReading(const std::string& path, int busy_ms, const Logger& log);

}  // namespace temper::db
