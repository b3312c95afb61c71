// Records in and out as JSON lines, and from one store into another.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/record_store.h"

namespace temper::db {

struct TransferReport {
  int64_t lines = 0;  // read or written, empty ones aside
  MergeCounts counts;
  int64_t bad = 0;  // lines that are no records
  Losses lost;      // of a damaged database
  // "line 7: ..." of the first bad ones, at most kMaxReportedLines.
  std::vector<std::string> errors;
};
inline constexpr size_t kMaxReportedLines = 20;
// The longest line that Import reads, in bytes; a longer one is bad.
inline constexpr size_t kMaxLineBytes = 8 << 20;

// Writes the records that match, oldest first, one a line. Of a damaged database those that can be
// read, and `lost` counts the others.
Result<TransferReport> Export(RecordStore& store, const RecordFilter& filter, std::ostream& out);

// Merges the records of every good line into `store`, never over better ones, and goes on past bad
// lines. An error is one of the store or of reading; what was merged before it stays. `check`, if
// there is one, may find a line bad for what this folder does not read.
Result<TransferReport> Import(std::istream& in, RecordStore& store,
                              const std::function<Status(const Record&)>& check = {});

// Merges the records of `from` that match into `to`.
Result<TransferReport> MergeStores(RecordStore& from, const RecordFilter& filter, RecordStore& to);

}  // namespace temper::db
