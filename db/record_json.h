// A record as one line of JSON: the form of export, import and shared logs (docs/records.md).
//
//   {"temper_record":1,"workload":"<64 hex>","target":"...","threads":1,"numerics":"...",
//    "schedule_hash":"<64 hex>","workload_text":"...","task":"...","flops":...,
//    "micro_architecture":"...","target_text":"...","schedule":"...","outcome":"ok","detail":"",
//    "median_us":...,"samples":[...],"spread":...,"control_us":...,"drift":...,"worker":"...",
//    "compiler_version":"...","features_version":1,"seed":1,"unsandboxed":false,"created_ms":...}
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "db/record.h"

namespace temper::db {

// Version 2 says where the constants were; records of version 1 were timed with cold ones.
inline constexpr int kRecordJsonVersion = 2;

// One line without its end. REQUIRES: the record is valid.
std::string RecordToJson(const Record& record);

// The record of a line, validated; INVALID_ARGUMENT names the field. Unknown fields are ignored;
// a higher version is refused. RecordFromJson(RecordToJson(r)) == r.
Result<Record> RecordFromJson(std::string_view line);

}  // namespace temper::db
