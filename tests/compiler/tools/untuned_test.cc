// The cost model that a database has for a target: what cannot be used is passed over, and told.
#include "compiler/tools/untuned.h"

#include <gtest/gtest.h>

#include "costmodel/features.h"
#include "db/memory_store.h"

namespace temper::tools {
namespace {

TEST(StoredModelFor, AModelOfAnEarlierVersionIsPassedOverWithANextStep) {
  const Target target = *ParseTarget("x86-64-v3");
  db::MemoryStore store;
  std::vector<std::string> warnings;
  EXPECT_EQ(StoredModelFor(target, store, "t.db", &warnings), "");
  EXPECT_TRUE(warnings.empty()) << warnings[0];

  db::StoredModel model{
      Fingerprint(target), MicroArchitecture(target), costmodel::kFeaturesVersion - 1, 300, 1000,
      "old trees"};
  ASSERT_TRUE(store.PutModel(model).ok());
  EXPECT_EQ(StoredModelFor(target, store, "t.db", &warnings), "");
  ASSERT_EQ(warnings.size(), 1u);
  const std::string version = std::to_string(costmodel::kFeaturesVersion - 1);
  for (const std::string& word : {std::string("t.db"), "features version " + version,
                                  std::string("not used"), std::string("tune to train")}) {
    EXPECT_NE(warnings[0].find(word), std::string::npos) << warnings[0];
  }

  model.features_version = costmodel::kFeaturesVersion;
  model.bytes = "trees";
  ASSERT_TRUE(store.PutModel(model).ok());
  EXPECT_EQ(StoredModelFor(target, store, "t.db", &warnings), "trees");
  EXPECT_EQ(warnings.size(), 1u);
}

}  // namespace
}  // namespace temper::tools
