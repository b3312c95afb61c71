#include "compiler/tools/record_source.h"

#include <algorithm>
#include <utility>

namespace temper::tools {
namespace {

constexpr size_t kTried = 4;

class RecordSource final : public driver::ScheduleSource {
 public:
  RecordSource(db::RecordStore* store, std::string name, te::Numerics numerics)
      : store_(store), name_(std::move(name)), numerics_(numerics) {}

  Result<std::vector<driver::FoundSchedule>> Find(const Hash& workload, const Target& target,
                                                  int threads, Constants constants) override {
    db::RecordKey key{workload, Fingerprint(target), threads, ""};
    const Constants others = constants == Constants::kCold ? Constants::kWarm : Constants::kCold;
    std::vector<driver::FoundSchedule> found;
    for (const auto& [exact, place] : {std::pair(true, constants), std::pair(true, others),
                                       std::pair(false, constants), std::pair(false, others)}) {
      key.constants = place;
      // A record's numerics is that of its schedule: stricter ones will do.
      for (te::Numerics n : te::kAllNumerics) {
        if (n > numerics_) break;
        key.numerics = te::Name(n);
        TEMPER_ASSIGN_OR_RETURN(auto records,
                                exact ? store_->TopK(key, kTried)
                                      : store_->Similar(key, MicroArchitecture(target), kTried));
        for (const db::Record& r : records) found.push_back({exact, r.schedule, r.RankUs()});
      }
      std::stable_sort(found.begin(), found.end(),
                       [](const auto& a, const auto& b) { return a.us < b.us; });
      if (!found.empty()) break;
    }
    return found;
  }

  std::string Name() const override { return name_; }

 private:
  db::RecordStore* store_;
  std::string name_;
  te::Numerics numerics_;
};

}  // namespace

std::unique_ptr<driver::ScheduleSource> MakeRecordSource(db::RecordStore* store, std::string name,
                                                         te::Numerics numerics) {
  return std::make_unique<RecordSource>(store, std::move(name), numerics);
}

}  // namespace temper::tools
