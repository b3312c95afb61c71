#include "base/outcome.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

TEST(Outcome, NamesAndNumbersRoundTrip) {
  for (int i = 0; i < kOutcomeCount; ++i) {
    auto outcome = OutcomeFromInt(i);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(ParseOutcome(OutcomeName(*outcome)), outcome);
  }
  EXPECT_FALSE(OutcomeFromInt(kOutcomeCount));
  EXPECT_FALSE(OutcomeFromInt(-1));
  EXPECT_FALSE(ParseOutcome("unknown"));
}

TEST(Outcome, StoredNamesAreFixed) {
  EXPECT_EQ(OutcomeName(Outcome::kOk), "ok");
  EXPECT_EQ(OutcomeName(Outcome::kWrongResult), "wrong_result");
  EXPECT_EQ(OutcomeName(Outcome::kTooNoisy), "too_noisy");
  EXPECT_EQ(OutcomeName(Outcome::kInfrastructure), "infrastructure");
}

TEST(Outcome, OnlyTheCandidatesOwnFaultsAreConclusive) {
  EXPECT_TRUE(IsConclusive(Outcome::kOk));
  EXPECT_TRUE(IsConclusive(Outcome::kCrashed));
  EXPECT_FALSE(IsConclusive(Outcome::kInfrastructure));
  EXPECT_FALSE(IsConclusive(Outcome::kTooNoisy));
}

}  // namespace
}  // namespace temper
