#include "compiler/tools/record_source.h"

#include <utility>

namespace temper::tools {
namespace {

constexpr size_t kTried = 4;

class RecordSource final : public driver::ScheduleSource {
 public:
  RecordSource(db::RecordStore* store, std::string name) : store_(store), name_(std::move(name)) {}

  Result<std::vector<driver::FoundSchedule>> Find(const Hash& workload, const Target& target,
                                                  int threads) override {
    const db::RecordKey key{workload, Fingerprint(target), threads, db::kStrictNumerics};
    std::vector<driver::FoundSchedule> found;
    TEMPER_ASSIGN_OR_RETURN(auto exact, store_->TopK(key, kTried));
    for (const db::Record& r : exact) found.push_back({true, r.schedule, r.RankUs()});
    if (!found.empty()) return found;
    TEMPER_ASSIGN_OR_RETURN(auto similar, store_->Similar(key, MicroArchitecture(target), kTried));
    for (const db::Record& r : similar) found.push_back({false, r.schedule, r.RankUs()});
    return found;
  }

  std::string Name() const override { return name_; }

 private:
  db::RecordStore* store_;
  std::string name_;
};

}  // namespace

std::unique_ptr<driver::ScheduleSource> MakeRecordSource(db::RecordStore* store, std::string name) {
  return std::make_unique<RecordSource>(store, std::move(name));
}

}  // namespace temper::tools
