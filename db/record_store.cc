#include "db/record_store.h"

namespace temper::db {
namespace {

template <typename T>
bool Agrees(const std::optional<T>& wanted, const T& value) {
  return !wanted || *wanted == value;
}

}  // namespace

bool RecordFilter::Matches(const Record& record) const {
  return Agrees(workload, record.key.workload) && Agrees(target, record.key.target) &&
         Agrees(micro_architecture, record.micro_architecture) &&
         Agrees(threads, record.key.threads) && Agrees(numerics, record.key.numerics) &&
         Agrees(constants, record.key.constants);
}

Result<std::optional<Record>> RecordStore::Best(const RecordKey& key) {
  TEMPER_ASSIGN_OR_RETURN(std::vector<Record> top, TopK(key, 1));
  if (top.empty()) return std::optional<Record>();
  return std::optional<Record>(std::move(top[0]));
}

}  // namespace temper::db
