// A tuning record: what became of one candidate (a schedule of a workload on a target).
//
// Workload and schedule are text that this folder does not read: te/ and schedule/ own their forms.
// All text is UTF-8.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/constants.h"
#include "base/hash.h"
#include "base/outcome.h"
#include "base/status.h"

namespace temper::db {

// What a lookup asks for. A record that differs in any part is a miss.
struct RecordKey {
  Hash workload;         // SHA-256 of the workload's canonical form
  std::string target;    // the target's fingerprint
  int32_t threads = 1;   // that the kernel runs on, 1 or more
  std::string numerics;  // the strictest numerics that allows the schedule, such as "strict"
  Constants constants = Constants::kCold;  // where its large constants were when it was timed

  auto operator<=>(const RecordKey&) const = default;
};

struct Record {
  RecordKey key;
  Hash schedule_hash;  // with the key: the record's identity

  std::string workload_text;       // the canonical form; key.workload is its SHA-256
  std::string task_name;           // for people, such as "conv2d_relu 1x56x56x64"
  double flops = 0;                // of one run of the workload
  std::string micro_architecture;  // of the target: records of other targets of it are `similar`
  std::string target_text;         // the target in full
  std::string schedule;            // its text form

  Outcome outcome = Outcome::kOk;
  std::string detail;  // why it is not ok, in one line

  // Times are 0 and samples empty unless the outcome is ok.
  double median_us = 0;        // of one run, microseconds
  std::vector<float> samples;  // microseconds, in the order they were taken
  double spread = 0;           // relative: half of the middle half's width by the median
  double control_us = 0;       // the control kernel's time in turns with this one
  double drift = 1;  // how much slower the control kernel was than at the worker's reference

  // Provenance.
  std::string worker;            // the worker's name
  std::string compiler_version;  // of the builder
  int32_t features_version = 0;  // of the cost model's features
  uint64_t seed = 0;             // of the search that made it
  bool unsandboxed = false;      // measured by a worker without its jail
  int64_t created_ms = 0;        // since 1970, UTC

  bool operator==(const Record&) const = default;

  // The time by which records are ranked: the median, with the drift of the core's speed taken out.
  double RankUs() const { return median_us / drift; }
  double Gflops() const { return median_us > 0 ? flops / median_us * 1e-3 : 0; }
};

// OK, or INVALID_ARGUMENT that names the field: sizes within limits, finite numbers, valid UTF-8,
// the workload's hash that of its text, times exactly when the outcome is ok. Every store refuses
// records that are not valid.
Status ValidateRecord(const Record& record);

// Whether a new measurement takes the place of a stored record of the same identity: yes, unless it
// says nothing about the candidate (infrastructure, noise) and the stored one does.
bool MeasurementReplaces(Outcome incoming, Outcome stored);

// The same for a record from another database, which must not undo what was learned here: only if
// the stored one says nothing, or if both are ok and the incoming one is faster.
bool ImportReplaces(Outcome incoming, double incoming_rank_us, Outcome stored,
                    double stored_rank_us);

}  // namespace temper::db
