// Records for tests.
#pragma once

#include <string>

#include "db/record.h"

namespace temper::db {

inline RecordKey MakeKey(int workload, std::string target = "fingerprint1", int threads = 1,
                         std::string numerics = "strict") {
  return {Sha256("workload " + std::to_string(workload)), std::move(target), threads,
          std::move(numerics)};
}

// An ok record with every field set; a failed one if `median_us` is 0.
inline Record MakeRecord(int workload, int schedule, double median_us,
                         std::string target = "fingerprint1") {
  Record r;
  r.key = MakeKey(workload, std::move(target));
  r.schedule = "schedule " + std::to_string(schedule);
  r.schedule_hash = Sha256(r.schedule);
  r.workload_text = "workload " + std::to_string(workload);
  r.task_name = "task " + std::to_string(workload);
  r.flops = 2e6;
  r.micro_architecture = "x86-64 znver4";
  r.target_text = "znver4 avx512f l2=1048576";
  r.worker = "worker \"1\"\n";
  r.compiler_version = "0.1.0";
  r.features_version = 3;
  r.seed = 0xfedcba9876543210u;
  r.unsandboxed = true;
  r.created_ms = 1700000000000 + schedule;
  if (median_us > 0) {
    r.median_us = median_us;
    r.samples = {static_cast<float>(median_us), static_cast<float>(median_us * 1.01), 0.1f};
    r.spread = 0.013;
    r.control_us = 12.5;
  } else {
    r.outcome = Outcome::kCrashed;
    r.detail = "signal 11 (Segmentation fault)";
  }
  return r;
}

}  // namespace temper::db
