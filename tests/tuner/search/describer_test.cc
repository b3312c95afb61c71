// What a describer remembers of loop nests does not show: it says of every schedule what describing
// it afresh says.
#include <gtest/gtest.h>

#include "compiler/te/canonical.h"
#include "tests/support/programs.h"
#include "tests/support/small_programs.h"
#include "tuner/search/evaluate.h"
#include "tuner/search/task_search.h"

namespace temper::tuner {
namespace {

void ExpectSame(Describer& describer, const schedule::Schedule& schedule, const std::string& what) {
  auto kept = describer.Describe(schedule);
  auto fresh = Describe(describer.space(), schedule);
  ASSERT_EQ(kept.ok(), fresh.ok()) << what;
  if (!fresh.ok()) return;
  EXPECT_EQ(kept->prior_us, fresh->prior_us) << what;
  ASSERT_EQ(kept->stores.size(), fresh->stores.size()) << what;
  for (size_t s = 0; s < fresh->stores.size(); ++s) {
    for (int f = 0; f < costmodel::kFeatureCount; ++f) {
      ASSERT_EQ(kept->stores[s][f], fresh->stores[s][f])
          << what << ", store " << s << ", " << costmodel::FeatureName(f);
    }
  }
}

std::vector<testing::NamedProgram> Programs() {
  std::vector<testing::NamedProgram> programs = testing::SmallPrograms();
  programs.push_back({"conv 3x3", lower::ConvBatch(1, 14, 14, 32, 32, 1)});  // three alternatives
  programs.push_back({"padded conv", testing::PaddedConv({14, 14, 32, 32, 3, 1, 1})});
  programs.push_back({"row mean", testing::RowMean(2, 80'000)});
  return programs;
}

// A population that shares nests: samples, and mutations and crossings of them.
TEST(Describer, SaysWhatDescribingAfreshSays) {
  for (const auto& [name, program] : Programs()) {
    for (int threads : {1, 2}) {
      const auto target = ParseTarget("x86-64-v4");
      ASSERT_TRUE(target.ok());
      for (const Space& space : SpacesOf(te::Canonicalize(program), *target, threads)) {
        Describer describer(&space);
        Rng rng(7);
        std::vector<Decision> population;
        for (int i = 0; i < 60; ++i) {
          Decision d = space.Sample(rng, 0.3);
          if (i >= 20) {
            const Decision& a = population[rng.Uniform(population.size())];
            const Decision& b = population[rng.Uniform(population.size())];
            d = i % 2 ? space.Mutate(a, rng) : space.Cross(a, b, rng);
          }
          population.push_back(d);
          ExpectSame(describer, space.Emit(d),
                     name + ", alternative " + std::to_string(space.alternative()));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Describer, RefusesWhatIsIllegal) {
  const auto target = ParseTarget("x86-64-v4");
  ASSERT_TRUE(target.ok());
  const auto spaces = SpacesOf(te::Canonicalize(testing::MatmulBiasRelu(64, 64, 64)), *target, 1);
  Describer describer(&spaces[0]);
  Rng rng(1);
  schedule::Schedule good = spaces[0].Emit(spaces[0].Sample(rng, 0));
  ASSERT_TRUE(describer.Describe(good).ok());
  schedule::Schedule bad = good;
  for (auto& stage : bad.stages) stage.order.clear();
  EXPECT_FALSE(describer.Describe(bad).ok());
  bad = good;
  for (auto& stage : bad.stages) {
    if (stage.place.kind == schedule::PlaceKind::kAt) stage.place.stage = 0;
  }
  ASSERT_FALSE(bad == good);
  EXPECT_FALSE(describer.Describe(bad).ok());
  bad = good;
  bad.stages.pop_back();
  EXPECT_FALSE(describer.Describe(bad).ok());
  EXPECT_TRUE(describer.Describe(good).ok());
}

}  // namespace
}  // namespace temper::tuner
