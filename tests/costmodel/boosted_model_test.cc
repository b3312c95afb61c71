#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "costmodel/cost_model.h"
#include "costmodel/rank.h"

namespace temper::costmodel {
namespace {

// Programs whose time the prior knows nothing of: it depends on feature 3 of their stores.
Sample Made(Rng& rng, int task) {
  Sample s;
  s.task = task;
  s.us = 10;
  s.features.prior_us = 50;
  auto stores = 1 + rng.Uniform(3);
  for (uint64_t i = 0; i < stores; ++i) {
    FeatureVector f{};
    for (int k = 0; k < 8; ++k) f[k] = static_cast<float>(rng.Uniform01());
    s.us += 100 * std::pow(f[3], 2) * (1 + task);
    s.features.stores.push_back(f);
  }
  return s;
}

double Correlation(const CostModel& model, uint64_t seed, int task) {
  Rng rng(seed);
  std::vector<Sample> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(Made(rng, task));
  std::vector<const ProgramFeatures*> programs;
  std::vector<double> speed;
  for (const Sample& s : samples) {
    programs.push_back(&s.features);
    speed.push_back(1 / s.us);
  }
  return RankCorrelation(model.Predict(programs), speed);
}

std::unique_ptr<CostModel> Trained() {
  auto model = MakeBoostedModel({});
  Rng rng(1);
  std::vector<Sample> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(Made(rng, i % 2));
  Status status = model->Update(samples);
  if (status.ok()) status = model->Train();
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

TEST(BoostedModel, LearnsWhatThePriorMisses) {
  auto model = Trained();
  EXPECT_GT(Correlation(*model, 77, 0), 0.8);
  EXPECT_GT(Correlation(*model, 78, 1), 0.8);
}

TEST(BoostedModel, TheTreesOfOneTaskServeAnother) {
  auto model = Trained();
  EXPECT_GT(Correlation(*model, 79, 5), 0.7);
}

TEST(BoostedModel, RelatedSamplesDoNotMakeATaskWait) {
  auto model = MakeBoostedModel({});
  Rng rng(1);
  std::vector<Sample> related;
  for (int i = 0; i < 1000; ++i) {
    related.push_back(Made(rng, 1));
    related.back().weight = 0.1;
  }
  ASSERT_TRUE(model->Update(related).ok());
  ASSERT_TRUE(model->WantsTraining());
  ASSERT_TRUE(model->Train().ok());
  EXPECT_FALSE(model->WantsTraining());
  std::vector<Sample> own;
  for (int i = 0; i < 16; ++i) own.push_back(Made(rng, 0));
  ASSERT_TRUE(model->Update(own).ok());
  EXPECT_TRUE(model->WantsTraining());
}

// Times that the prior has right but for a quarter, measured for what it takes for fast alone, as a
// search does; of the slow a few failed.
TEST(BoostedModel, WhereNothingWasMeasuredThePriorRanks) {
  Rng rng(11);
  auto made = [&](double most) {
    Sample s;
    FeatureVector f{};
    for (int k = 0; k < 8; ++k) f[k] = static_cast<float>(rng.Uniform01());
    s.features.prior_us = 100 * std::exp(most * rng.Uniform01());
    f[5] = static_cast<float>(std::log(s.features.prior_us));
    s.us = s.features.prior_us * (1 + 0.25 * rng.Uniform01() + 0.25 * f[3]);
    s.features.stores.push_back(f);
    return s;
  };
  std::vector<Sample> measured;
  for (int i = 0; i < 100; ++i) measured.push_back(made(i % 10 == 0 ? 2 : 0.1));
  for (size_t i = 0; i < 100; i += 20) measured[i].us = 0;
  auto model = MakeBoostedModel({});
  ASSERT_TRUE(model->Update(measured).ok());
  ASSERT_TRUE(model->Train().ok());
  std::vector<Sample> fresh;
  for (int i = 0; i < 200; ++i) fresh.push_back(made(2));
  std::vector<const ProgramFeatures*> programs;
  std::vector<double> speed;
  for (const Sample& s : fresh) {
    programs.push_back(&s.features);
    speed.push_back(1 / s.us);
  }
  const double prior = RankCorrelation(MakePriorModel()->Predict(programs), speed);
  EXPECT_GT(RankCorrelation(model->Predict(programs), speed), prior - 0.02);
}

TEST(BoostedModel, WithoutDataItIsThePrior) {
  auto boosted = MakeBoostedModel({});
  auto prior = MakePriorModel();
  ProgramFeatures a, b;
  a.stores.resize(1);
  b.stores.resize(2);
  a.prior_us = 3;
  b.prior_us = 2;
  const ProgramFeatures* programs[] = {&a, &b};
  auto scores = boosted->Predict(programs);
  EXPECT_EQ(scores, prior->Predict(programs));
  EXPECT_GT(scores[1], scores[0]);
  EXPECT_TRUE(boosted->Save().empty());
}

TEST(BoostedModel, SaveAndLoadKeepPredictions) {
  auto model = Trained();
  std::string bytes = model->Save();
  ASSERT_FALSE(bytes.empty());
  auto loaded = MakeBoostedModel({});
  ASSERT_TRUE(loaded->Load(bytes).ok());
  Rng rng(5);
  Sample s = Made(rng, 0);
  const ProgramFeatures* program = &s.features;
  EXPECT_EQ(model->Predict({&program, 1}), loaded->Predict({&program, 1}));
}

TEST(BoostedModel, LoadRefusesWhatIsNoModel) {
  auto model = MakeBoostedModel({});
  EXPECT_FALSE(model->Load("").ok());
  EXPECT_FALSE(model->Load("temper-trees 0 3\nrest").ok());
  std::string bytes = Trained()->Save();
  EXPECT_FALSE(model->Load(bytes.substr(0, bytes.find('\n') + 1) + "garbage").ok());
  EXPECT_FALSE(MakePriorModel()->Load(bytes).ok());
}

TEST(BoostedModel, TheSameSeedAndDataGiveTheSameTrees) {
  EXPECT_EQ(Trained()->Save(), Trained()->Save());
}

TEST(BoostedModel, FailedCandidatesRankLast) {
  auto model = MakeBoostedModel({});
  Rng rng(3);
  std::vector<Sample> samples;
  for (int i = 0; i < 200; ++i) {
    Sample s = Made(rng, 0);
    s.features.stores.resize(1);
    s.features.stores[0][5] = i % 2 ? 1.0F : 0.0F;
    s.us = i % 2 ? 0 : 100;
    samples.push_back(s);
  }
  ASSERT_TRUE(model->Update(samples).ok());
  ASSERT_TRUE(model->Train().ok());
  const ProgramFeatures* programs[] = {&samples[0].features, &samples[1].features};
  auto scores = model->Predict(programs);
  EXPECT_GT(scores[0], scores[1]);
}

TEST(BoostedModel, ContinuesAsDataComes) {
  auto model = MakeBoostedModel({});
  Rng rng(1);
  for (int batch = 0; batch < 30; ++batch) {
    std::vector<Sample> samples;
    for (int i = 0; i < 16; ++i) samples.push_back(Made(rng, 0));
    ASSERT_TRUE(model->Update(samples).ok());
    ASSERT_TRUE(model->Train().ok());
  }
  EXPECT_GT(Correlation(*model, 80, 0), 0.8);
}

}  // namespace
}  // namespace temper::costmodel
