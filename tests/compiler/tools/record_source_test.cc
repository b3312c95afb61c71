#include "compiler/tools/record_source.h"

#include <gtest/gtest.h>

#include "db/memory_store.h"
#include "tests/db/make_record.h"

namespace temper::tools {
namespace {

class RecordSourceTest : public ::testing::Test {
 protected:
  void Put(int schedule, double us, Constants constants, bool own = true) {
    db::Record r = db::MakeRecord(1, schedule, us, own ? Fingerprint(target_) : "elsewhere");
    r.key.constants = constants;
    r.micro_architecture = MicroArchitecture(target_);
    const Status put = store_.Put(std::vector<db::Record>{r});
    EXPECT_TRUE(put.ok()) << put.message();
  }

  // What is found, such as "exact 1, exact 2".
  std::string Found(Constants constants) {
    auto found = MakeRecordSource(&store_, "test", te::kDefaultNumerics)
                     ->Find(db::MakeKey(1).workload, target_, 1, constants);
    EXPECT_TRUE(found.ok());
    std::string text;
    for (const driver::FoundSchedule& f : *found) {
      text += (text.empty() ? "" : ", ") + std::string(f.exact ? "exact " : "similar ") +
              f.schedule.substr(f.schedule.size() - 1);
    }
    return text;
  }

  Target target_ = *ParseTarget("x86-64-v4");
  db::MemoryStore store_;
};

TEST_F(RecordSourceTest, PrefersConstantsWhereTheModelHasThem) {
  Put(1, 10, Constants::kCold);
  Put(2, 12, Constants::kCold);
  EXPECT_EQ(Found(Constants::kCold), "exact 1, exact 2");
  EXPECT_EQ(Found(Constants::kWarm), "exact 1, exact 2") << "better than none";
  Put(2, 5, Constants::kWarm);  // faster than any cold one, and no rival of theirs
  EXPECT_EQ(Found(Constants::kCold), "exact 1, exact 2");
  EXPECT_EQ(Found(Constants::kWarm), "exact 2");
}

TEST_F(RecordSourceTest, PrefersItsOwnTarget) {
  Put(3, 5, Constants::kWarm, false);
  EXPECT_EQ(Found(Constants::kWarm), "similar 3");
  EXPECT_EQ(Found(Constants::kCold), "similar 3");
  Put(4, 50, Constants::kCold);
  EXPECT_EQ(Found(Constants::kWarm), "exact 4");
}

}  // namespace
}  // namespace temper::tools
