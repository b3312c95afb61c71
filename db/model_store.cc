#include "db/model_store.h"

namespace temper::db {
namespace {

constexpr size_t kMaxName = 256;

}  // namespace

Status ValidateModel(const StoredModel& model) {
  if (model.target.empty() || model.target.size() > kMaxName) {
    return InvalidArgument("the cost model's target has no name, or too long a one");
  }
  if (model.micro_architecture.size() > kMaxName) {
    return InvalidArgument("the cost model's micro-architecture has too long a name");
  }
  if (model.features_version < 1) {
    return InvalidArgument("the cost model has no features version");
  }
  if (model.programs < 0) return InvalidArgument("the cost model's count of programs is negative");
  if (model.bytes.empty() || model.bytes.size() > kMaxModelBytes) {
    return InvalidArgument("the cost model has " + std::to_string(model.bytes.size()) +
                           " bytes, not 1 to " + std::to_string(kMaxModelBytes));
  }
  return OkStatus();
}

Hash ModelChecksum(const StoredModel& model) {
  Hasher hasher;
  hasher.AddString(model.target).AddString(model.micro_architecture);
  hasher.AddU64(static_cast<uint64_t>(model.features_version));
  hasher.AddU64(static_cast<uint64_t>(model.programs));
  hasher.AddU64(static_cast<uint64_t>(model.created_ms)).AddString(model.bytes);
  return hasher.Finish();
}

}  // namespace temper::db
