#include "db/record_json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace temper::db {
namespace {

using Json = nlohmann::json;

// Of records that do not say where the constants were: in memory. They are still written so, and
// older programs, which would take warm ones for cold, refuse those.
constexpr int kColdVersion = 1;
constexpr int kMaxDepth = 2;  // the record, and its samples

// Takes fields out of one object and remembers the first that is missing or of another type.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  void Text(const char* name, std::string& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_string()) return Fail(name, "text");
    value = field->get_ref<const std::string&>();
  }

  void HashOf(const char* name, Hash& value) {
    std::string text;
    Text(name, text);
    if (!status_.ok()) return;
    auto hash = Hash::FromHex(text);
    if (!hash.ok()) return Fail(name, "64 hex digits");
    value = *hash;
  }

  void Number(const char* name, double& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_number()) return Fail(name, "a number");
    value = field->get<double>();
  }

  template <typename T>
  void Integer(const char* name, T& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_number_integer()) return Fail(name, "a whole number");
    if (field->is_number_unsigned()) {
      auto number = field->get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
        return Fail(name, "a whole number that fits");
      }
      value = static_cast<T>(number);
    } else {
      auto number = field->get<int64_t>();  // negative, as nlohmann parses
      if (std::is_unsigned_v<T> || number < static_cast<int64_t>(std::numeric_limits<T>::min())) {
        return Fail(name, "a whole number that fits");
      }
      value = static_cast<T>(number);
    }
  }

  void Bool(const char* name, bool& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_boolean()) return Fail(name, "true or false");
    value = field->get<bool>();
  }

  void Samples(const char* name, std::vector<float>& value) {
    const Json* field = Find(name);
    if (field == nullptr) return;
    if (!field->is_array()) return Fail(name, "a list of numbers");
    value.reserve(field->size());
    for (const Json& sample : *field) {
      if (!sample.is_number()) return Fail(name, "a list of numbers");
      value.push_back(static_cast<float>(sample.get<double>()));
    }
  }

  const Status& status() const { return status_; }

 private:
  const Json* Find(const char* name) {
    if (!status_.ok()) return nullptr;
    auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    status_ = InvalidArgument("\"" + std::string(name) + "\" is missing");
    return nullptr;
  }

  void Fail(const char* name, const char* expected) {
    if (status_.ok()) {
      status_ = InvalidArgument("\"" + std::string(name) + "\" is not " + expected);
    }
  }

  const Json& object_;
  Status status_;
};

}  // namespace

std::string RecordToJson(const Record& r) {
  nlohmann::ordered_json json;
  const bool cold = r.key.constants == Constants::kCold;
  json["temper_record"] = cold ? kColdVersion : kRecordJsonVersion;
  json["workload"] = r.key.workload.Hex();
  json["target"] = r.key.target;
  json["threads"] = r.key.threads;
  json["numerics"] = r.key.numerics;
  if (!cold) json["constants"] = Name(r.key.constants);
  json["schedule_hash"] = r.schedule_hash.Hex();
  json["workload_text"] = r.workload_text;
  json["task"] = r.task_name;
  json["flops"] = r.flops;
  json["micro_architecture"] = r.micro_architecture;
  json["target_text"] = r.target_text;
  json["schedule"] = r.schedule;
  json["outcome"] = OutcomeName(r.outcome);
  json["detail"] = r.detail;
  json["median_us"] = r.median_us;
  json["samples"] = r.samples;
  json["spread"] = r.spread;
  json["control_us"] = r.control_us;
  json["drift"] = r.drift;
  json["worker"] = r.worker;
  json["compiler_version"] = r.compiler_version;
  json["features_version"] = r.features_version;
  json["seed"] = r.seed;
  json["unsandboxed"] = r.unsandboxed;
  json["created_ms"] = r.created_ms;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<Record> RecordFromJson(std::string_view line) {
  bool too_deep = false;
  auto limit = [&](int depth, Json::parse_event_t event, Json&) {
    bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    too_deep = too_deep || (opens && depth >= kMaxDepth);
    return !too_deep;
  };
  Json json = Json::parse(line, limit, /*allow_exceptions=*/false);
  if (too_deep) return InvalidArgument("it is not a record: it is nested too deeply");
  if (json.is_discarded()) return InvalidArgument("it is not JSON");
  if (!json.is_object()) return InvalidArgument("it is not a record but another kind of JSON");
  FieldReader fields(json);
  int64_t version = 0;
  fields.Integer("temper_record", version);
  TEMPER_RETURN_IF_ERROR(fields.status());
  if (version != kColdVersion && version != kRecordJsonVersion) {
    return InvalidArgument("it is of version " + std::to_string(version) +
                           ", this program reads versions up to " +
                           std::to_string(kRecordJsonVersion));
  }
  Record r;
  fields.HashOf("workload", r.key.workload);
  fields.Text("target", r.key.target);
  fields.Integer("threads", r.key.threads);
  fields.Text("numerics", r.key.numerics);
  std::string constants(Name(r.key.constants));
  if (version != kColdVersion) fields.Text("constants", constants);
  fields.HashOf("schedule_hash", r.schedule_hash);
  fields.Text("workload_text", r.workload_text);
  fields.Text("task", r.task_name);
  fields.Number("flops", r.flops);
  fields.Text("micro_architecture", r.micro_architecture);
  fields.Text("target_text", r.target_text);
  fields.Text("schedule", r.schedule);
  std::string outcome;
  fields.Text("outcome", outcome);
  fields.Text("detail", r.detail);
  fields.Number("median_us", r.median_us);
  fields.Samples("samples", r.samples);
  fields.Number("spread", r.spread);
  fields.Number("control_us", r.control_us);
  fields.Number("drift", r.drift);
  fields.Text("worker", r.worker);
  fields.Text("compiler_version", r.compiler_version);
  fields.Integer("features_version", r.features_version);
  fields.Integer("seed", r.seed);
  fields.Bool("unsandboxed", r.unsandboxed);
  fields.Integer("created_ms", r.created_ms);
  TEMPER_RETURN_IF_ERROR(fields.status());
  auto parsed = ParseOutcome(outcome);
  if (!parsed) return InvalidArgument("\"outcome\" is unknown: " + Quoted(outcome));
  r.outcome = *parsed;
  const auto where = ParseConstants(constants);
  if (!where) return InvalidArgument("\"constants\" is unknown: " + Quoted(constants));
  r.key.constants = *where;
  TEMPER_RETURN_IF_ERROR(ValidateRecord(r));
  return r;
}

}  // namespace temper::db
