#include "db/transfer.h"

#include "base/text.h"
#include "db/record_json.h"

namespace temper::db {
namespace {

constexpr size_t kBatch = 256;

void Add(const MergeCounts& part, MergeCounts& total) {
  total.added += part.added;
  total.replaced += part.replaced;
  total.kept += part.kept;
}

// Merges records in batches, each one commit.
class BatchMerger {
 public:
  BatchMerger(RecordStore& store, MergeCounts& counts) : store_(store), counts_(counts) {}

  Status Add(Record record) {
    batch_.push_back(std::move(record));
    return batch_.size() >= kBatch ? Flush() : OkStatus();
  }

  Status Flush() {
    if (batch_.empty()) return OkStatus();
    TEMPER_ASSIGN_OR_RETURN(MergeCounts counts, store_.Merge(batch_));
    db::Add(counts, counts_);
    batch_.clear();
    return OkStatus();
  }

 private:
  RecordStore& store_;
  MergeCounts& counts_;
  std::vector<Record> batch_;
};

enum class LineKind { kLine, kTooLong, kEnd };

// The next line without its end; what is beyond the limit is read and dropped.
LineKind ReadLine(std::istream& in, std::string& line) {
  line.clear();
  bool too_long = false;
  std::streambuf& buffer = *in.rdbuf();
  for (;;) {
    int c = buffer.sbumpc();
    if (c == std::char_traits<char>::eof()) {
      if (line.empty() && !too_long) return LineKind::kEnd;
      break;
    }
    if (c == '\n') break;
    if (line.size() < kMaxLineBytes) {
      line += static_cast<char>(c);
    } else {
      too_long = true;
    }
  }
  return too_long ? LineKind::kTooLong : LineKind::kLine;
}

}  // namespace

Result<TransferReport> Export(RecordStore& store, const RecordFilter& filter, std::ostream& out) {
  TransferReport report;
  TEMPER_ASSIGN_OR_RETURN(report.lost, store.Salvage(filter, [&](const Record& record) {
    out << RecordToJson(record) << '\n';
    ++report.lines;
    return out.good();
  }));
  out.flush();
  if (!out.good()) {
    return Unavailable("cannot write record " + std::to_string(report.lines) +
                       ": is the disk full, or was the reader closed?");
  }
  return report;
}

Result<TransferReport> Import(std::istream& in, RecordStore& store,
                              const std::function<Status(const Record&)>& check) {
  TransferReport report;
  BatchMerger merger(store, report.counts);
  std::string line;
  for (int64_t number = 1;; ++number) {
    LineKind kind = ReadLine(in, line);
    if (kind == LineKind::kEnd) break;
    if (kind == LineKind::kLine && StripWhitespace(line).empty()) continue;
    ++report.lines;
    Result<Record> record =
        kind == LineKind::kTooLong
            ? InvalidArgument("it is longer than " + std::to_string(kMaxLineBytes) + " bytes")
            : RecordFromJson(line);
    if (record.ok() && check) {
      if (Status fits = check(*record); !fits.ok()) record = std::move(fits);
    }
    if (record.ok()) {
      TEMPER_RETURN_IF_ERROR(merger.Add(std::move(*record)));
      continue;
    }
    ++report.bad;
    if (report.errors.size() < kMaxReportedLines) {
      report.errors.push_back("line " + std::to_string(number) + ": " + record.status().message());
    }
  }
  TEMPER_RETURN_IF_ERROR(merger.Flush());
  return report;
}

Result<TransferReport> MergeStores(RecordStore& from, const RecordFilter& filter, RecordStore& to) {
  TransferReport report;
  BatchMerger merger(to, report.counts);
  Status merged;
  TEMPER_RETURN_IF_ERROR(from.ForEach(filter, [&](const Record& record) {
    ++report.lines;
    merged = merger.Add(record);
    return merged.ok();
  }));
  TEMPER_RETURN_IF_ERROR(merged);
  TEMPER_RETURN_IF_ERROR(merger.Flush());
  return report;
}

}  // namespace temper::db
