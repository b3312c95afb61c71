#include "tests/fuzz/wire_mutator.h"

#include <gtest/gtest.h>

#include <set>

namespace temper::fuzz {
namespace {

// {1: 150, 2: {3: "ab"}} as protobuf writes it.
const std::string kMessage = std::string("\x08\x96\x01\x12\x04\x1a\x02", 7) + "ab";

void Flip(std::string& bytes, std::mt19937_64& random) {
  if (!bytes.empty()) bytes[random() % bytes.size()] ^= 1;
}

TEST(WireMutator, ChangesValuesNamesAndStructure) {
  std::mt19937_64 random(1);
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i) seen.insert(MutateMessage(kMessage, random, Flip));
  EXPECT_TRUE(seen.count(std::string("\x08\x97\x01\x12\x04\x1a\x02", 7) + "ab"));  // 150 -> 151
  EXPECT_TRUE(seen.count(std::string("\x08\x96\x01\x12\x04\x1a\x02", 7) + "ac"));  // "ab" -> "ac"
  EXPECT_TRUE(seen.count(std::string("\x08\x96\x01\x12\x00", 5)));  // field 3 is gone
  EXPECT_GT(seen.size(), 50u);
}

TEST(WireMutator, ChangesWhatIsNoMessageAsBytes) {
  std::mt19937_64 random(1);
  EXPECT_EQ(MutateMessage(std::string("\xff", 1), random, Flip), std::string("\xfe", 1));
  EXPECT_EQ(MutateMessage("", random, Flip), "");
}

TEST(WireMutator, CrossesMessages) {
  std::mt19937_64 random(1);
  const std::string other = std::string("\x22\x01", 2) + "z";  // {4: "z"}
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(CrossMessages(kMessage, other, random).find(other), std::string::npos);
  }
}

}  // namespace
}  // namespace temper::fuzz
