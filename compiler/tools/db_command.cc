// temper db: looking after a tuning database.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/outcome.h"
#include "base/text.h"
#include "compiler/target/target.h"
#include "compiler/tools/command.h"
#include "compiler/tools/console.h"
#include "compiler/tools/output_file.h"
#include "compiler/tools/record_check.h"
#include "db/sqlite_store.h"
#include "db/transfer.h"

namespace temper::tools {
namespace {

constexpr std::string_view kExample = R"(Example:
  temper db stats --db tuning.db
  temper db export --db tuning.db -o records.jsonl
  temper db import --db tuning.db records.jsonl    # never over better records
  temper db merge --db tuning.db other.db
  temper db check --db tuning.db
stats says what became of candidates, and the most frequent reasons of those that failed; export has
outcome and detail of each. import and merge make the database if it is not there. export writes what can be read of a damaged
one, and then exits with 1.)";

constexpr size_t kMaxReasons = 1000;  // told apart for an outcome
constexpr size_t kReasonsListed = 5;  // the most frequent ones

struct DbFlags {
  std::string db;
  std::string file;                 // import: where from; export: where to; "-" or "": the stream
  std::vector<std::string> others;  // merge
  std::string target;               // export
  bool json = false;
};

Result<std::unique_ptr<db::Store>> Open(const std::string& path, bool write) {
  const Logger log = Logger::Stderr("temper", LogLevel::kWarning);
  db::SqliteOptions options;
  options.log = log;
  options.create = write;
  return write ? db::OpenSqliteStore(path, options) : db::OpenSqliteStoreReadOnly(path, options);
}

// How often candidates failed for a reason, by the reason with N for each number in it.
using Reasons = std::map<std::string, int64_t>;

std::string WithoutNumbers(const std::string& detail) {
  std::string kind;
  bool number = false;
  for (const char c : detail) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !number) kind += 'N';
    number = digit;
  }
  return EscapeControl(kind);
}

// By outcome. What is damaged is passed over, as Stats() does.
Result<std::array<Reasons, kOutcomeCount>> ReasonsOf(db::RecordStore& store) {
  std::array<Reasons, kOutcomeCount> reasons;
  auto lost = store.Salvage({}, [&](const db::Record& record) {
    if (record.outcome == Outcome::kOk || record.detail.empty()) return true;
    Reasons& known = reasons[static_cast<size_t>(record.outcome)];
    const std::string kind = WithoutNumbers(record.detail);
    if (known.size() < kMaxReasons || known.contains(kind)) ++known[kind];
    return true;
  });
  if (!lost.ok()) return lost.status();
  return reasons;
}

int Stats(const DbFlags& flags) {
  auto store = Open(flags.db, false);
  if (!store.ok()) return Fail(store.status());
  auto stats = (*store)->Stats();
  if (!stats.ok()) return Fail(stats.status());
  auto reasons = ReasonsOf(**store);
  if (!reasons.ok()) return Fail(reasons.status());
  nlohmann::json outcomes = nlohmann::json::object(), why = nlohmann::json::object();
  std::string text;
  for (int i = 0; i < kOutcomeCount; ++i) {
    if (stats->outcomes[i] == 0) continue;
    const std::string name(OutcomeName(static_cast<Outcome>(i)));
    outcomes[name] = stats->outcomes[i];
    text += fmt::format("  {:18} {:>10}\n", name, stats->outcomes[i]);
    std::vector<std::pair<std::string, int64_t>> often((*reasons)[i].begin(), (*reasons)[i].end());
    std::stable_sort(often.begin(), often.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (often.size() > kReasonsListed) often.resize(kReasonsListed);
    for (const auto& [reason, count] : often) {
      why[name].push_back({{"reason", reason}, {"records", count}});
      text += fmt::format("  {:>29}  {}\n", count, reason);
    }
  }
  if (flags.json) {
    Print(nlohmann::json{{"records", stats->records},
                         {"workloads", stats->workloads},
                         {"targets", stats->targets},
                         {"outcomes", outcomes},
                         {"reasons", why},
                         {"bytes", stats->bytes},
                         {"schema_version", stats->schema_version}}
              .dump() +
          "\n");
  } else {
    Print(fmt::format("{} records of {} workloads on {} targets, {}, schema {}\n{}", stats->records,
                      stats->workloads, stats->targets,
                      FormatBytes(static_cast<double>(stats->bytes)), stats->schema_version, text));
  }
  return Flush();
}

// What ends an export. The store's advice on damage is to export.
int FailExport(const Status& status, const std::string& database) {
  if (status.code() != Code::kDataLoss) return Fail(status);
  return Fail(DataLoss(database +
                       " is damaged so far that nothing can be exported from it; take it from a "
                       "copy, or tune anew into a new database"));
}

int Export(const DbFlags& flags) {
  db::RecordFilter filter;
  if (!flags.target.empty()) {
    auto target = ParseTarget(flags.target);
    if (!target.ok()) return FailUsage("db export", "--target: " + target.status().message());
    filter.target = Fingerprint(*target);
  }
  const bool to_stdout = flags.file.empty() || flags.file == "-";
  std::unique_ptr<OutputFolder> folder;
  std::string temporary;
  std::ofstream file;
  if (!to_stdout) {
    const int writable = CheckOutput("db export", flags.file, {flags.db});
    if (writable != kExitOk) return writable;
    auto made = OutputFolder::Create(flags.file);
    if (!made.ok()) return Fail(made.status());
    folder = *std::move(made);
    temporary = folder->path() + "/records.jsonl";
    file.open(temporary, std::ios::binary | std::ios::trunc);
    if (!file) return Fail(ErrnoStatus(errno, "cannot write " + flags.file));
  }
  auto store = Open(flags.db, false);
  if (!store.ok()) return FailExport(store.status(), flags.db);
  auto report = db::Export(**store, filter, to_stdout ? std::cout : file);
  if (!report.ok()) return FailExport(report.status(), flags.db);
  if (!to_stdout) {
    file.close();
    if (!file) return Fail(DataLoss("cannot write " + flags.file + ": is the disk full?"));
    // What was there stays whole until the new file is.
    if (rename(temporary.c_str(), flags.file.c_str()) != 0) {
      return Fail(ErrnoStatus(errno, "cannot write " + flags.file));
    }
  }
  std::cerr << fmt::format("{} records\n", report->lines);
  const int flushed = Flush();
  if (report->lost.count == 0) return flushed;
  return Fail(DataLoss(fmt::format(
      "{} is damaged: {} of its records cannot be read, number {} to {} among them; the others "
      "were exported",
      flags.db, report->lost.count, report->lost.first, report->lost.last)));
}

int Import(const DbFlags& flags) {
  const bool from_stdin = flags.file == "-";
  std::ifstream file;
  if (!from_stdin) {
    file.open(flags.file, std::ios::binary);
    // A folder opens, and fails when it is read.
    if (file) file.peek();
    if (!file && !file.eof()) return Fail(ErrnoStatus(errno, "cannot read " + flags.file));
  }
  auto store = Open(flags.db, true);
  if (!store.ok()) return Fail(store.status());
  auto report = db::Import(from_stdin ? std::cin : file, **store, CheckImportedRecord);
  if (!report.ok()) return Fail(report.status());
  if (flags.json) {
    Print(nlohmann::json{{"lines", report->lines},
                         {"added", report->counts.added},
                         {"replaced", report->counts.replaced},
                         {"kept", report->counts.kept},
                         {"bad", report->bad}}
              .dump() +
          "\n");
  } else {
    Print(
        fmt::format("{} lines: {} records added, {} replaced, {} not better than what is there, "
                    "{} bad\n",
                    report->lines, report->counts.added, report->counts.replaced,
                    report->counts.kept, report->bad));
  }
  for (const std::string& error : report->errors) Warn(error);
  const int64_t untold = report->bad - static_cast<int64_t>(report->errors.size());
  if (untold > 0) Warn(fmt::format("and {} more bad lines", untold));
  const int flushed = Flush();
  return report->bad ? kExitFailure : flushed;
}

int Merge(const DbFlags& flags) {
  // What cannot be read is told before a database is made.
  std::vector<std::unique_ptr<db::Store>> others;
  for (const std::string& other : flags.others) {
    std::error_code ignored;
    if (std::filesystem::equivalent(other, flags.db, ignored)) {
      return FailUsage("db merge", other + " cannot be merged into itself");
    }
    auto from = Open(other, false);
    if (!from.ok()) return Fail(from.status());
    others.push_back(*std::move(from));
  }
  auto store = Open(flags.db, true);
  if (!store.ok()) return Fail(store.status());
  db::MergeCounts total;
  for (size_t i = 0; i < others.size(); ++i) {
    auto report = db::MergeStores(*others[i], {}, **store);
    if (!report.ok()) return Fail(report.status().WithContext(flags.others[i]));
    total.added += report->counts.added;
    total.replaced += report->counts.replaced;
    total.kept += report->counts.kept;
  }
  if (flags.json) {
    Print(nlohmann::json{{"added", total.added}, {"replaced", total.replaced}, {"kept", total.kept}}
              .dump() +
          "\n");
  } else {
    Print(fmt::format("{} records added, {} replaced, {} not better than what is there\n",
                      total.added, total.replaced, total.kept));
  }
  return Flush();
}

int Check(const DbFlags& flags) {
  auto store = Open(flags.db, false);
  if (!store.ok()) return Fail(store.status());
  auto report = (*store)->Check();
  if (!report.ok()) return Fail(report.status());
  if (flags.json) {
    Print(nlohmann::json{{"records", report->records}, {"problems", report->problems}}.dump() +
          "\n");
  } else {
    for (const std::string& problem : report->problems) Print(problem + "\n");
    Print(fmt::format("{} records checked, {}\n", report->records,
                      report->problems.empty()
                          ? "all well"
                          : fmt::format("{} problems", report->problems.size())));
  }
  const int flushed = Flush();
  return report->problems.empty() ? flushed : kExitFailure;
}

CLI::App* AddVerb(CLI::App* db, const std::shared_ptr<DbFlags>& flags, const char* name,
                  const char* what) {
  CLI::App* app = db->add_subcommand(name, what);
  app->footer(std::string(kExample));
  app->add_option("--db", flags->db, "Tuning database")->required();
  return app;
}

}  // namespace

Command AddDbCommand(CLI::App& root) {
  auto flags = std::make_shared<DbFlags>();
  CLI::App* app = root.add_subcommand("db", "Look after a tuning database");
  app->footer(std::string(kExample));
  app->require_subcommand(1);
  const std::string json = "One JSON object on stdout";
  CLI::App* stats = AddVerb(app, flags, "stats", "Count what is in it, and why candidates failed");
  stats->add_flag("--json", flags->json, json);
  CLI::App* check = AddVerb(app, flags, "check", "Verify its structure and every record");
  check->add_flag("--json", flags->json, json);
  CLI::App* out =
      AddVerb(app, flags, "export", "Write its records as JSON lines, past what is damaged");
  out->add_option("-o,--output", flags->file, "File; without it stdout");
  out->add_option("--target", flags->target, "Only records of this target");
  CLI::App* in = AddVerb(app, flags, "import", "Add records from JSON lines; makes the database");
  in->add_option("file", flags->file, "File, or - for stdin")->required();
  in->add_flag("--json", flags->json, json);
  CLI::App* merge =
      AddVerb(app, flags, "merge", "Add the records of other databases; makes the database");
  merge->add_option("others", flags->others, "Databases to read")->required();
  merge->add_flag("--json", flags->json, json);
  return {app, [=] {
            if (stats->parsed()) return Stats(*flags);
            if (check->parsed()) return Check(*flags);
            if (out->parsed()) return Export(*flags);
            if (in->parsed()) return Import(*flags);
            return Merge(*flags);
          }};
}

}  // namespace temper::tools
