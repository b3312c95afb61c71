#include "db/record.h"

#include <cmath>
#include <string_view>

#include "base/text.h"

namespace temper::db {
namespace {

// Far beyond what the compiler writes; a hostile record must not fill memory or disk.
constexpr size_t kMaxText = 1 << 20;
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxSamples = 1 << 16;
constexpr int32_t kMaxThreads = 4096;

Status CheckText(std::string_view field, std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return InvalidArgument(std::string(field) + " is longer than " + std::to_string(max_bytes) +
                           " bytes");
  }
  if (!IsValidUtf8(text) || text.find('\0') != std::string_view::npos) {
    return InvalidArgument(std::string(field) + " is not UTF-8 text");
  }
  return OkStatus();
}

Status CheckNotEmpty(std::string_view field, std::string_view text) {
  if (text.empty()) return InvalidArgument(std::string(field) + " is missing");
  return OkStatus();
}

Status CheckNumber(std::string_view field, double value) {
  if (!std::isfinite(value) || value < 0) {
    return InvalidArgument(std::string(field) + " is not a finite number of 0 or more");
  }
  return OkStatus();
}

Status ValidateTimes(const Record& r) {
  TEMPER_RETURN_IF_ERROR(CheckNumber("median_us", r.median_us));
  TEMPER_RETURN_IF_ERROR(CheckNumber("spread", r.spread));
  TEMPER_RETURN_IF_ERROR(CheckNumber("control_us", r.control_us));
  TEMPER_RETURN_IF_ERROR(CheckNumber("drift", r.drift));
  if (r.drift < 0.01 || r.drift > 100) return InvalidArgument("drift is not within 0.01 and 100");
  if (r.samples.size() > kMaxSamples) return InvalidArgument("there are too many samples");
  for (float sample : r.samples) {
    TEMPER_RETURN_IF_ERROR(CheckNumber("a sample", static_cast<double>(sample)));
  }
  if (r.outcome == Outcome::kOk && r.median_us <= 0) {
    return InvalidArgument("median_us is missing although the outcome is ok");
  }
  if (r.outcome != Outcome::kOk && (r.median_us > 0 || !r.samples.empty())) {
    return InvalidArgument("there are times although the outcome is " +
                           std::string(OutcomeName(r.outcome)));
  }
  return OkStatus();
}

}  // namespace

Status ValidateRecord(const Record& r) {
  TEMPER_RETURN_IF_ERROR(CheckNotEmpty("target", r.key.target));
  TEMPER_RETURN_IF_ERROR(CheckNotEmpty("workload_text", r.workload_text));
  TEMPER_RETURN_IF_ERROR(CheckNotEmpty("schedule", r.schedule));
  TEMPER_RETURN_IF_ERROR(CheckText("target", r.key.target, kMaxName));
  TEMPER_RETURN_IF_ERROR(CheckText("numerics", r.key.numerics, kMaxName));
  TEMPER_RETURN_IF_ERROR(CheckText("workload_text", r.workload_text, kMaxText));
  TEMPER_RETURN_IF_ERROR(CheckText("schedule", r.schedule, kMaxText));
  TEMPER_RETURN_IF_ERROR(CheckText("task_name", r.task_name, kMaxName));
  TEMPER_RETURN_IF_ERROR(CheckText("micro_architecture", r.micro_architecture, kMaxName));
  TEMPER_RETURN_IF_ERROR(CheckText("target_text", r.target_text, kMaxText));
  TEMPER_RETURN_IF_ERROR(CheckText("detail", r.detail, kMaxText));
  TEMPER_RETURN_IF_ERROR(CheckText("worker", r.worker, kMaxName));
  TEMPER_RETURN_IF_ERROR(CheckText("compiler_version", r.compiler_version, kMaxName));
  if (r.key.threads < 1 || r.key.threads > kMaxThreads) {
    return InvalidArgument("threads is not within 1 and " + std::to_string(kMaxThreads));
  }
  if (r.key.constants != Constants::kCold && r.key.constants != Constants::kWarm) {
    return InvalidArgument("constants are neither cold nor warm");
  }
  if (r.features_version < 0) return InvalidArgument("features_version is negative");
  if (r.created_ms < 0) return InvalidArgument("created_ms is negative");
  if (r.schedule_hash.IsZero()) return InvalidArgument("schedule_hash is missing");
  if (!OutcomeFromInt(static_cast<int64_t>(r.outcome))) {
    return InvalidArgument("outcome is not one of the list");
  }
  TEMPER_RETURN_IF_ERROR(CheckNumber("flops", r.flops));
  TEMPER_RETURN_IF_ERROR(ValidateTimes(r));
  if (Sha256(r.workload_text) != r.key.workload) {
    return InvalidArgument("the workload's hash is not that of its text");
  }
  return OkStatus();
}

bool MeasurementReplaces(Outcome incoming, Outcome stored) {
  return IsConclusive(incoming) || !IsConclusive(stored);
}

bool ImportReplaces(Outcome incoming, double incoming_rank_us, Outcome stored,
                    double stored_rank_us) {
  if (!IsConclusive(stored)) return IsConclusive(incoming);
  return incoming == Outcome::kOk && stored == Outcome::kOk && incoming_rank_us < stored_rank_us;
}

}  // namespace temper::db
