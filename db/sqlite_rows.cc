#include "db/sqlite_rows.h"

#include <bit>
#include <cstring>

namespace temper::db {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are stored as they lie");

std::string SampleBytes(const std::vector<float>& samples) {
  std::string bytes(samples.size() * sizeof(float), '\0');
  if (!samples.empty()) std::memcpy(bytes.data(), samples.data(), bytes.size());
  return bytes;
}

std::vector<float> SamplesFromBytes(const std::string& bytes) {
  std::vector<float> samples(bytes.size() / sizeof(float));
  if (!samples.empty()) std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
  return samples;
}

// Adding 0.0 turns -0.0 into what SQLite gives back for it.
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value + 0.0); }

Hash RecordChecksum(const Record& r) {
  Hasher hasher;
  hasher.AddString(r.key.workload.AsBytes()).AddString(r.key.target);
  hasher.AddU64(static_cast<uint64_t>(r.key.threads)).AddString(r.key.numerics);
  hasher.AddString(r.schedule_hash.AsBytes()).AddString(r.schedule);
  hasher.AddString(r.task_name).AddU64(Bits(r.flops));
  hasher.AddU64(static_cast<uint64_t>(r.outcome)).AddString(r.detail);
  hasher.AddU64(Bits(r.median_us)).AddString(SampleBytes(r.samples)).AddU64(Bits(r.spread));
  hasher.AddU64(Bits(r.control_us)).AddU64(Bits(r.drift));
  hasher.AddString(r.worker).AddString(r.compiler_version);
  hasher.AddU64(static_cast<uint64_t>(r.features_version)).AddU64(r.seed);
  hasher.AddU64(r.unsandboxed).AddU64(static_cast<uint64_t>(r.created_ms));
  // Those of schema 3 and before, which did not say it, were all cold.
  if (r.key.constants != Constants::kCold) hasher.AddString(Name(r.key.constants));
  return hasher.Finish();
}

Hash TargetChecksum(const Record& r) {
  return Hasher()
      .AddString(r.key.target)
      .AddString(r.micro_architecture)
      .AddString(r.target_text)
      .Finish();
}

Result<int64_t> WorkloadId(Connection& connection, const Record& r) {
  TEMPER_ASSIGN_OR_RETURN(Statement find,
                          connection.Prepare("SELECT id FROM workload WHERE hash = ?1"));
  find.BindHash(1, r.key.workload);
  TEMPER_ASSIGN_OR_RETURN(bool known, find.Step());
  if (known) return find.Int(0);
  TEMPER_ASSIGN_OR_RETURN(
      Statement add,
      connection.Prepare("INSERT INTO workload (hash, text) VALUES (?1, ?2) RETURNING id"));
  add.BindHash(1, r.key.workload).BindText(2, r.workload_text);
  TEMPER_ASSIGN_OR_RETURN(bool row, add.Step());
  TEMPER_CHECK(row);
  return add.Int(0);
}

// A measurement's description of a target takes the place of a stored one; an import's does not.
Result<int64_t> TargetId(Connection& connection, const Record& r, Policy policy) {
  Hash checksum = TargetChecksum(r);
  TEMPER_ASSIGN_OR_RETURN(
      Statement find, connection.Prepare("SELECT id, checksum FROM target WHERE fingerprint = ?1"));
  find.BindText(1, r.key.target);
  TEMPER_ASSIGN_OR_RETURN(bool known, find.Step());
  if (known && (policy == Policy::kImport || find.Bytes(1) == checksum.AsBytes())) {
    return find.Int(0);
  }
  TEMPER_ASSIGN_OR_RETURN(
      Statement put,
      connection.Prepare("INSERT INTO target (fingerprint, micro_architecture, text, checksum) "
                         "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (fingerprint) DO UPDATE SET "
                         "micro_architecture = ?2, text = ?3, checksum = ?4 RETURNING id"));
  put.BindText(1, r.key.target)
      .BindText(2, r.micro_architecture)
      .BindText(3, r.target_text)
      .BindHash(4, checksum);
  TEMPER_ASSIGN_OR_RETURN(bool row, put.Step());
  TEMPER_CHECK(row);
  return put.Int(0);
}

constexpr char kInsert[] =
    "INSERT INTO record (workload, target, threads, numerics, schedule_hash, outcome, rank_us, "
    "schedule, task_name, flops, detail, median_us, samples, spread, control_us, drift, worker, "
    "compiler_version, features_version, seed, unsandboxed, created_ms, checksum, constants) "
    "VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
    "?21, ?22, ?23, ?24) "
    "ON CONFLICT (workload, target, threads, numerics, constants, schedule_hash) DO UPDATE SET "
    "outcome = ?6, rank_us = ?7, schedule = ?8, task_name = ?9, flops = ?10, detail = ?11, "
    "median_us = ?12, samples = ?13, spread = ?14, control_us = ?15, drift = ?16, worker = ?17, "
    "compiler_version = ?18, features_version = ?19, seed = ?20, unsandboxed = ?21, "
    "created_ms = ?22, checksum = ?23";

}  // namespace

const char kSelectRecords[] =
    "SELECT r.id, w.hash, t.fingerprint, r.threads, r.numerics, r.constants, r.schedule_hash, "
    "w.text, "
    "r.task_name, r.flops, t.micro_architecture, t.text, r.schedule, r.outcome, r.detail, "
    "r.median_us, r.samples, r.spread, r.control_us, r.drift, r.worker, r.compiler_version, "
    "r.features_version, r.seed, r.unsandboxed, r.created_ms, r.rank_us, r.checksum, t.checksum "
    "FROM record r JOIN workload w ON w.id = r.workload JOIN target t ON t.id = r.target ";

RecordRow ReadRecord(const Statement& row) {
  RecordRow result;
  Record& r = result.record;
  int column = 0;
  result.id = row.Int(column++);
  auto workload = Hash::FromBytes(row.Bytes(column++));
  r.key.target = row.Bytes(column++);
  r.key.threads = static_cast<int32_t>(row.Int(column++));
  r.key.numerics = row.Bytes(column++);
  auto constants = ParseConstants(row.Bytes(column++));
  auto schedule_hash = Hash::FromBytes(row.Bytes(column++));
  r.workload_text = row.Bytes(column++);
  r.task_name = row.Bytes(column++);
  r.flops = row.Real(column++);
  r.micro_architecture = row.Bytes(column++);
  r.target_text = row.Bytes(column++);
  r.schedule = row.Bytes(column++);
  auto outcome = OutcomeFromInt(row.Int(column++));
  r.detail = row.Bytes(column++);
  r.median_us = row.Real(column++);
  r.samples = SamplesFromBytes(row.Bytes(column++));
  r.spread = row.Real(column++);
  r.control_us = row.Real(column++);
  r.drift = row.Real(column++);
  r.worker = row.Bytes(column++);
  r.compiler_version = row.Bytes(column++);
  r.features_version = static_cast<int32_t>(row.Int(column++));
  r.seed = static_cast<uint64_t>(row.Int(column++));
  r.unsandboxed = row.Int(column++) != 0;
  r.created_ms = row.Int(column++);
  double rank_us = row.Real(column++);
  std::string checksum = row.Bytes(column++);
  std::string target_checksum = row.Bytes(column++);
  if (!workload.ok() || !constants || !schedule_hash.ok() || !outcome) return result;
  r.key.workload = *workload;
  r.key.constants = *constants;
  r.schedule_hash = *schedule_hash;
  r.outcome = *outcome;
  // ValidateRecord compares the workload's hash with its text. It also keeps out a record that
  // someone wrote with a matching checksum but values that we do not accept.
  result.intact = checksum == RecordChecksum(r).AsBytes() &&
                  target_checksum == TargetChecksum(r).AsBytes() && rank_us == r.RankUs() &&
                  ValidateRecord(r).ok();
  return result;
}

Result<Written> WriteRecord(Connection& connection, const Record& r, Policy policy) {
  TEMPER_ASSIGN_OR_RETURN(int64_t workload, WorkloadId(connection, r));
  TEMPER_ASSIGN_OR_RETURN(int64_t target, TargetId(connection, r, policy));
  Written written = Written::kAdded;
  {
    TEMPER_ASSIGN_OR_RETURN(
        Statement find,
        connection.Prepare(
            "SELECT outcome, rank_us FROM record WHERE workload = ?1 AND "
            "target = ?2 AND threads = ?3 AND numerics = ?4 AND schedule_hash = ?5 AND "
            "constants = ?6"));
    find.BindInt(1, workload).BindInt(2, target).BindInt(3, r.key.threads);
    find.BindText(4, r.key.numerics).BindHash(5, r.schedule_hash);
    find.BindText(6, Name(r.key.constants));
    TEMPER_ASSIGN_OR_RETURN(bool known, find.Step());
    if (known) {
      Outcome stored = OutcomeFromInt(find.Int(0)).value_or(Outcome::kInfrastructure);
      bool replaces = policy == Policy::kMeasurement
                          ? MeasurementReplaces(r.outcome, stored)
                          : ImportReplaces(r.outcome, r.RankUs(), stored, find.Real(1));
      if (!replaces) return Written::kKept;
      written = Written::kReplaced;
    }
  }
  Hash checksum = RecordChecksum(r);
  std::string samples = SampleBytes(r.samples);
  TEMPER_ASSIGN_OR_RETURN(Statement put, connection.Prepare(kInsert));
  put.BindInt(1, workload).BindInt(2, target).BindInt(3, r.key.threads);
  put.BindText(4, r.key.numerics).BindHash(5, r.schedule_hash);
  put.BindInt(6, static_cast<int64_t>(r.outcome)).BindReal(7, r.RankUs());
  put.BindText(8, r.schedule).BindText(9, r.task_name).BindReal(10, r.flops);
  put.BindText(11, r.detail).BindReal(12, r.median_us).BindBlob(13, samples);
  put.BindReal(14, r.spread).BindReal(15, r.control_us).BindReal(16, r.drift);
  put.BindText(17, r.worker).BindText(18, r.compiler_version).BindInt(19, r.features_version);
  put.BindInt(20, static_cast<int64_t>(r.seed)).BindInt(21, r.unsandboxed);
  put.BindInt(22, r.created_ms).BindHash(23, checksum);
  put.BindText(24, Name(r.key.constants));
  TEMPER_RETURN_IF_ERROR(put.Run());
  return written;
}

}  // namespace temper::db
