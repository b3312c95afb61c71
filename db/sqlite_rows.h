// Between records and rows of the tables that schema/ makes.
#pragma once

#include <string>

#include "base/status.h"
#include "db/record.h"
#include "db/sqlite.h"

namespace temper::db {

// "SELECT <columns> FROM record r JOIN workload w ... JOIN target t ..." for ReadRecord; a WHERE
// may follow.
extern const char kSelectRecords[];

// The columns of a statement that starts with kSelectRecords.
struct RecordRow {
  int64_t id = 0;
  Record record;
  bool intact = false;  // its checksums match; otherwise `record` is not to be used
};
RecordRow ReadRecord(const Statement& row);

// Whether an incoming record takes the place of the stored one of its identity.
enum class Policy { kMeasurement, kImport };
enum class Written { kAdded, kReplaced, kKept };

// Writes one record in the current transaction. REQUIRES: it is valid.
Result<Written> WriteRecord(Connection& connection, const Record& record, Policy policy);

}  // namespace temper::db
