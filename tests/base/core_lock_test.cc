#include "base/core_lock.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>

namespace temper {
namespace {

class CoreLock : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = ScopedTempDir::Create("locks");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
    cores_ = AllowedCores();
  }
  const std::string& folder() { return folder_->path(); }
  std::optional<ScopedTempDir> folder_;
  std::vector<int> cores_;
};

TEST_F(CoreLock, ACoreIsLockedOnceAndFreeAgainAfterwards) {
  ASSERT_FALSE(cores_.empty());
  {
    auto first = CoreLocks::Take(folder(), {cores_[0]});
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    auto second = CoreLocks::Take(folder(), {cores_[0]});
    EXPECT_EQ(second.status().code(), Code::kResourceExhausted);
    EXPECT_NE(second.status().message().find("core " + std::to_string(cores_[0])),
              std::string::npos);
    auto free = UnlockedCores(folder(), cores_);
    EXPECT_EQ(free.size(), cores_.size() - 1);
  }
  EXPECT_TRUE(CoreLocks::Take(folder(), {cores_[0]}).ok());
  EXPECT_EQ(UnlockedCores(folder(), cores_), cores_);
}

TEST_F(CoreLock, TakesTheHighestFreeCoresAndRefusesWhenThereAreTooFew) {
  auto one = CoreLocks::TakeFree(folder(), 1);
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  EXPECT_EQ(one->cores(), std::vector<int>{cores_.back()});
  auto all = CoreLocks::TakeFree(folder(), static_cast<int>(cores_.size()));
  EXPECT_EQ(all.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(UnlockedCores(folder(), cores_).size(), cores_.size() - 1)
      << "what a refused call had locked is free again";
}

TEST_F(CoreLock, RefusesACoreThatIsNotOurs) {
  EXPECT_EQ(CoreLocks::Take(folder(), {1 << 20}).status().code(), Code::kInvalidArgument);
}

TEST_F(CoreLock, TheFolderCanBeChosenAndIsRefusedWhereItCannotBeMade) {
  std::string chosen = folder() + "/locks";
  ASSERT_EQ(setenv("TEMPER_CORE_LOCKS", chosen.c_str(), 1), 0);
  auto found = CoreLockFolder();
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, chosen);
  chosen = folder() + "/no/such";
  ASSERT_EQ(setenv("TEMPER_CORE_LOCKS", chosen.c_str(), 1), 0);
  EXPECT_NE(CoreLockFolder().status().message().find(chosen), std::string::npos);
  unsetenv("TEMPER_CORE_LOCKS");
}

}  // namespace
}  // namespace temper
