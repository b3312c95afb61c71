// The trained cost model of each target, kept beside the records it learned from. What a model is
// are bytes that this folder does not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/hash.h"
#include "base/status.h"

namespace temper::db {

inline constexpr size_t kMaxModelBytes = 64 << 20;

struct StoredModel {
  std::string target;              // fingerprint of the target whose times it learned
  std::string micro_architecture;  // other targets of it may use it too
  int32_t features_version = 0;    // of the cost model's features
  int64_t programs = 0;            // measurements it learned from
  int64_t created_ms = 0;          // since 1970, UTC
  std::string bytes = {};          // not empty

  bool operator==(const StoredModel&) const = default;
};

// OK, or INVALID_ARGUMENT that names the field. Every store refuses models that are not valid.
Status ValidateModel(const StoredModel& model);

// Over every field.
Hash ModelChecksum(const StoredModel& model);

// Every method may be called from any thread at any time.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Stores the model; OK means that it is committed. It takes the place of the one of the same
  // target and features version.
  virtual Status PutModel(const StoredModel& model) = 0;

  // The model of that target and version; else the newest of another target of its
  // micro-architecture; else none. DATA_LOSS, naming the model, where it was stored but is damaged.
  virtual Result<std::optional<StoredModel>> GetModel(const std::string& target,
                                                      const std::string& micro_architecture,
                                                      int32_t features_version) = 0;
};

}  // namespace temper::db
