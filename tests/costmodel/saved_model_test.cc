// Bytes that claim to be a model: what XGBoost wrote is taken, anything else refused by name.
#include "costmodel/saved_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "costmodel/cost_model.h"

namespace temper::costmodel {
namespace {

using nlohmann::json;

const std::string& Saved() {
  static const std::string bytes = [] {
    auto model = MakeBoostedModel({});
    Rng rng(1);
    std::vector<Sample> samples(200);
    for (Sample& s : samples) {
      s.features.prior_us = 10;
      FeatureVector f{};
      for (int k = 0; k < 8; ++k) f[k] = static_cast<float>(rng.Uniform01());
      s.features.stores.push_back(f);
      s.us = 10 + 100 * f[3];
    }
    EXPECT_TRUE(model->Update(samples).ok());
    EXPECT_TRUE(model->Train().ok());
    return model->Save();
  }();
  return bytes;
}

json Payload() { return json::parse(Saved().substr(Saved().find('\n') + 1)); }

json& Tree(json& saved) { return saved["learner"]["gradient_booster"]["model"]["trees"][1]; }

// The message of refusing a model that was changed and sealed anew, as a poisoner would.
std::string Refusal(const std::function<void(json&)>& change) {
  json saved = Payload();
  change(saved);
  std::string bytes = SealModel(saved.dump());
  Status status = MakeBoostedModel({})->Load(bytes);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find("tune to train"), std::string::npos) << status.ToString();
  return status.message();
}

TEST(SavedModel, WhatWasSavedLoads) {
  ASSERT_FALSE(Saved().empty());
  EXPECT_TRUE(UnsealModel(Saved()).ok());
  EXPECT_TRUE(MakeBoostedModel({})->Load(Saved()).ok());
}

TEST(SavedModel, OtherBytesAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("temper-trees"), std::string(1000, 'x'),
        Saved().substr(0, Saved().find('\n') + 1), Saved().substr(0, Saved().size() / 2),
        Saved() + " "}) {
    EXPECT_EQ(UnsealModel(bytes).status().code(), Code::kInvalidArgument);
  }
  std::string flipped = Saved();
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_NE(UnsealModel(flipped).status().message().find("checksum"), std::string::npos);
  EXPECT_NE(UnsealModel(SealModel("[1")).status().message().find("no JSON"), std::string::npos);
  EXPECT_FALSE(UnsealModel(SealModel(std::string(100000, '['))).ok());
}

TEST(SavedModel, AnotherFeaturesVersionIsRefusedByName) {
  std::string bytes = Saved();
  std::string ours = "temper-trees " + std::to_string(kFeaturesVersion) + " ";
  ASSERT_TRUE(bytes.starts_with(ours));
  bytes.replace(0, ours.size(), "temper-trees 999 ");
  Status status = UnsealModel(bytes).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("features version 999"), std::string::npos);
}

TEST(SavedModel, PoisonedTreesAreRefusedBeforeXgboostSeesThem) {
  EXPECT_NE(Refusal([](json& m) { Tree(m)["left_children"][0] = 100000; }).find("node 0 of tree 1"),
            std::string::npos);
  EXPECT_NE(Refusal([](json& m) { Tree(m)["left_children"][0] = 0; }).find("node 0"),
            std::string::npos)
      << "a cycle";
  EXPECT_NE(Refusal([](json& m) {
              Tree(m)["right_children"][0] = Tree(m)["left_children"][0];
            }).find("node 0"),
            std::string::npos)
      << "two ways to one node";
  EXPECT_NE(Refusal([](json& m) { Tree(m)["split_indices"][0] = kFeatureCount; }).find("feature"),
            std::string::npos);
  EXPECT_NE(Refusal([](json& m) { Tree(m)["split_conditions"][0] = 1e300; }).find("conditions"),
            std::string::npos);
  EXPECT_NE(Refusal([](json& m) { Tree(m)["parents"].erase(0); }).find("parents"),
            std::string::npos)
      << "too few";
  EXPECT_NE(Refusal([](json& m) { Tree(m)["split_type"][0] = 1; }).find("split_type"),
            std::string::npos)
      << "categories";
  EXPECT_NE(Refusal([](json& m) {
              Tree(m)["left_children"][0] =
                  UINT64_MAX;  // -1, where it is cut to 64 bits with a sign
              Tree(m)["right_children"][0] = UINT64_MAX;
            }).find("left_children"),
            std::string::npos);
  // Leaves whose sum over trees or stores is infinite, or no number: nothing could be sorted by it.
  for (double value : {1e38, -1e38, 101.0}) {
    EXPECT_NE(Refusal([&](json& m) {
                json& tree = Tree(m);
                for (size_t i = 0; i < tree["left_children"].size(); ++i) {
                  if (tree["left_children"][i] == -1) tree["split_conditions"][i] = value;
                }
              }).find("leaf"),
              std::string::npos);
  }
  for (const char* trust : {"2", "-1", "nan", "0.5x", "", "much"}) {
    EXPECT_NE(Refusal([&](json& m) { m["learner"]["attributes"]["trust"] = trust; }).find("trust"),
              std::string::npos);
  }
  EXPECT_NE(Refusal([](json& m) { Tree(m) = "oak"; }).find("tree 1"), std::string::npos);
  EXPECT_NE(Refusal([](json& m) {
              m["learner"]["gradient_booster"]["model"]["trees"] = json::array();
            }).find("no trees"),
            std::string::npos);
  EXPECT_NE(Refusal([](json& m) {
              m["learner"]["learner_model_param"]["num_feature"] = "7";
            }).find("our features"),
            std::string::npos);
  EXPECT_NE(Refusal([](json& m) {
              m["learner"]["gradient_booster"]["name"] = "dart";
            }).find("it is not of trees"),
            std::string::npos);
  EXPECT_FALSE(Refusal([](json& m) { m = json::array(); }).empty());
}

TEST(SavedModel, FieldsThatWeDoNotKnowAreDropped) {
  json saved = Payload();
  saved["learner"]["attributes"]["scikit"] = "x";
  saved["learner"]["deep"] = json::array({json::array({json::array()})});
  auto rebuilt = UnsealModel(SealModel(saved.dump()));
  ASSERT_TRUE(rebuilt.ok());
  EXPECT_TRUE(*rebuilt == *UnsealModel(Saved()));
}

// Random damage that is sealed anew either is refused or predicts without harm.
TEST(SavedModel, RandomPoisonNeverCrashes) {
  Rng rng(7);
  ProgramFeatures program;
  program.stores.resize(2);
  program.prior_us = 3;
  const ProgramFeatures* programs[] = {&program};
  const std::string text = Payload().dump();
  int loaded = 0;
  for (int i = 0; i < 300; ++i) {
    std::string poisoned = text;
    for (int k = 0; k < 3; ++k) {
      size_t at = rng.Uniform(poisoned.size());
      if (poisoned[at] >= '0' && poisoned[at] <= '9') {
        poisoned[at] = static_cast<char>('0' + rng.Uniform(10));
      } else if (rng.Chance(0.1)) {
        poisoned[at] = static_cast<char>(rng.Uniform(256));
      }
    }
    auto model = MakeBoostedModel({});
    if (!model->Load(SealModel(poisoned)).ok()) continue;
    ++loaded;
    std::vector<double> scores = model->Predict(programs);
    ASSERT_EQ(scores.size(), 1u);
    EXPECT_TRUE(std::isfinite(scores[0]));
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace temper::costmodel
