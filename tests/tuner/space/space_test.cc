#include "tuner/space/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/canonical.h"
#include "tests/support/programs.h"

namespace temper::tuner {
namespace {

Target Named(const std::string& name) {
  auto target = ParseTarget(name);
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  return *target;
}

std::vector<testing::NamedProgram> Programs() {
  std::vector<testing::NamedProgram> programs = testing::SmallPrograms();
  programs.push_back({"matmul_large", testing::MatmulBiasRelu(512, 512, 512)});
  programs.push_back({"conv_large", testing::Conv({56, 56, 64, 64, 3, 1, 1})});
  programs.push_back({"depthwise_large", testing::Depthwise({112, 112, 32, 32, 3, 1, 1})});
  for (auto& p : programs) p.program = te::Canonicalize(p.program);
  return programs;
}

TEST(Space, SamplesOfEveryProgramAreLegal) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    Target target = Named(name);
    for (int threads : {1, 2}) {
      for (const auto& p : Programs()) {
        Space space = Space::Create(p.program, target, threads);
        Rng rng(7);
        int legal = 0;
        std::string reason;
        for (int i = 0; i < 60; ++i) {
          auto lowered = lower::LowerToLoops(p.program, space.Emit(space.Sample(rng)), target);
          legal += lowered.ok() ? 1 : 0;
          if (!lowered.ok()) reason = lowered.status().ToString();
        }
        EXPECT_GE(legal, 57) << p.name << " for " << name << ": " << reason;
      }
    }
  }
}

TEST(Space, BuildChecksLegalityAndNamesTheWorkload) {
  Target target = Named("x86-64-v4");
  te::Program program = te::Canonicalize(testing::MatmulBiasRelu(64, 96, 32));
  Space space = Space::Create(program, target, 1);
  Rng rng(1);
  auto schedule = space.Build(space.Sample(rng, 0));
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  EXPECT_EQ(schedule->workload, te::WorkloadHash(program));
  EXPECT_EQ(schedule->threads, 1);
}

TEST(Space, ExtractIsTheInverseOfEmit) {
  for (int threads : {1, 4}) {
    Target target = Named("x86-64-v4");
    for (const auto& p : Programs()) {
      Space space = Space::Create(p.program, target, threads);
      Rng rng(3);
      for (int i = 0; i < 60; ++i) {
        schedule::Schedule s = space.Emit(space.Sample(rng));
        auto decision = space.Extract(s);
        ASSERT_TRUE(decision.has_value()) << p.name << ": " << schedule::ToText(s);
        EXPECT_TRUE(space.Emit(*decision) == s) << p.name;
      }
    }
  }
}

TEST(Space, ExtractRefusesForeignSchedules) {
  Target target = Named("x86-64-v4");
  te::Program program = te::Canonicalize(testing::MatmulBiasRelu(64, 96, 32));
  Space space = Space::Create(program, target, 1);
  Rng rng(1);
  schedule::Schedule s = space.Emit(space.Sample(rng));
  schedule::Schedule other = s;
  other.threads = 3;
  EXPECT_FALSE(space.Extract(other).has_value());
  other = s;
  other.stages.pop_back();
  EXPECT_FALSE(space.Extract(other).has_value());
  other = s;
  other.stages.back().groups[0].factors = {3, 2, 2};
  EXPECT_FALSE(space.Extract(other).has_value());
  EXPECT_FALSE(space.Extract(lower::ReferenceSchedule(program, target)).has_value());
}

TEST(Space, TamePointsFitTheRegisters) {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    Target target = Named(name);
    te::Program program = te::Canonicalize(testing::MatmulBiasRelu(512, 512, 512));
    Space space = Space::Create(program, target, 1);
    Rng rng(5);
    for (int i = 0; i < 200; ++i) {
      Decision d = space.Sample(rng, 0);
      ASSERT_TRUE(space.FitsRegisters(d));
      auto lowered = lower::LowerToLoops(program, space.Emit(d), target);
      ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
      for (const tir::Buffer& b : lowered->function.buffers) {
        if (b.scope != tir::Scope::kRegister) continue;
        EXPECT_LE(b.ElementCount(),
                  int64_t{target.Lanes(4)} *
                      (target.vector_registers - (target.vector_registers > 16 ? 3 : 2)));
      }
    }
  }
}

TEST(Space, ContainsTheTilesThatAreKnownToBeFast) {
  Target target = Named("x86-64-v4");
  te::Program program = te::Canonicalize(testing::MatmulBiasRelu(512, 512, 512));
  Space space = Space::Create(program, target, 1);
  std::set<std::pair<int64_t, int64_t>> tiles;
  Rng rng(11);
  for (int i = 0; i < 4000; ++i) {
    Decision d = space.Sample(rng, 0);
    int64_t rows = 0, vectors = 0, lanes = 0;
    for (size_t k = 0; k < d.size(); ++k) {
      int64_t value = space.knobs()[k].values[d[k]];
      if (space.knobs()[k].name == "tile1") rows = value;
      if (space.knobs()[k].name == "vectors") vectors = value;
      if (space.knobs()[k].name == "lanes") lanes = value;
    }
    tiles.insert({rows, vectors * lanes});
  }
  for (std::pair<int64_t, int64_t> tile : {std::pair<int64_t, int64_t>{8, 48}, {6, 64}, {12, 32}}) {
    EXPECT_TRUE(tiles.count(tile)) << tile.first << "x" << tile.second;
  }
}

std::vector<int64_t> ValuesOf(const Space& space, const std::string& name) {
  for (const Knob& knob : space.knobs()) {
    if (knob.name == name) return knob.values;
  }
  return {};
}

// A row of six is one vector, and six sums of one matrix are too few to be under way at once.
TEST(Space, TilesOfSmallProductsReachOverTheBatch) {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    Target target = Named(name);
    Space small = Space::Create(te::Canonicalize(testing::BatchMatmul(12, 6, 6, 64)), target, 1);
    EXPECT_EQ(ValuesOf(small, "lanes")[0], 8);
    EXPECT_EQ(ValuesOf(small, "vectors"), std::vector<int64_t>{1});
    EXPECT_GT(ValuesOf(small, "tile2").size(), 1u);
    Space large = Space::Create(te::Canonicalize(testing::BatchMatmul(12, 49, 49, 32)), target, 1);
    EXPECT_EQ(ValuesOf(large, "tile2"), std::vector<int64_t>{1});
  }
}

// 12 sums, three values beside a vector: with sixteen registers none is spare.
TEST(Space, TilesMayTakeAllOfFewRegisters) {
  Target target = Named("x86-64-v3");
  Space space = Space::Create(te::Canonicalize(testing::MatmulBiasRelu(64, 96, 32)), target, 1);
  auto fits = [&](int64_t rows, int64_t vectors) {
    Decision d(space.knobs().size(), 0);
    for (size_t k = 0; k < d.size(); ++k) {
      const Knob& knob = space.knobs()[k];
      const int64_t value = knob.name == "tile1" ? rows : knob.name == "vectors" ? vectors : 1;
      auto at = std::find(knob.values.begin(), knob.values.end(), value);
      if (at != knob.values.end()) d[k] = static_cast<int>(at - knob.values.begin());
    }
    return space.FitsRegisters(d);
  };
  EXPECT_TRUE(fits(4, 3));
  EXPECT_TRUE(fits(3, 4));
  EXPECT_TRUE(fits(6, 2));
  EXPECT_TRUE(fits(14, 1));
  EXPECT_FALSE(fits(7, 2));
  EXPECT_FALSE(fits(5, 3));
}

TEST(Space, PacksConstantsAndKeepsTheTileInRegisters) {
  Target target = Named("x86-64-v4");
  for (te::Program program :
       {testing::MatmulBiasRelu(64, 96, 32), testing::Conv({14, 14, 32, 64, 3, 1, 1})}) {
    program = te::Canonicalize(program);
    Space space = Space::Create(program, target, 1);
    Rng rng(1);
    schedule::Schedule s = space.Emit(space.Sample(rng));
    ASSERT_EQ(s.steps.size(), 1u);
    EXPECT_EQ(s.steps[0].kind, schedule::StepKind::kPack);
    EXPECT_TRUE(std::any_of(s.stages.begin(), s.stages.end(), [](const auto& stage) {
      return stage.place.kind == schedule::PlaceKind::kConstant;
    }));
    EXPECT_TRUE(std::any_of(s.stages.begin(), s.stages.end(), [](const auto& stage) {
      return stage.place.kind == schedule::PlaceKind::kAt && stage.scope == tir::Scope::kRegister;
    }));
  }
}

TEST(Space, PaddedRowsAreCopiedInTheLoopsOrInlined) {
  Target target = Named("x86-64-v4");
  for (int64_t stride : {1, 2}) {
    te::Program program = te::Canonicalize(
        testing::DepthwiseRows({.height = 28, .width = 56, .in = 8, .stride = stride}));
    Space space = Space::Create(program, target, 1);
    Rng rng(1);
    int copied = 0, inlined = 0;
    for (int i = 0; i < 40; ++i) {
      const schedule::Schedule s = space.Emit(space.Sample(rng));
      const schedule::Place& pad = s.stages[0].place;  // the first stage of the program
      copied += pad.kind == schedule::PlaceKind::kAt && s.stages[0].scope == tir::Scope::kStack;
      inlined += pad.kind == schedule::PlaceKind::kInline;
    }
    EXPECT_EQ(copied + inlined, 40);
    EXPECT_GT(copied, 0);
    EXPECT_GT(inlined, 0);
  }
}

// Seven of eight lanes are used sooner than four and then two and one.
TEST(Space, ShortRowsAreMaskedVectors) {
  te::Program program =
      te::Canonicalize(testing::DepthwiseRows({.height = 7, .width = 7, .in = 8}));
  const auto lanes = [&](const char* target) {
    const Space space = Space::Create(program, Named(target), 1);
    for (const Knob& knob : space.knobs()) {
      if (knob.name == "lanes") return knob.values.front();
    }
    return int64_t{0};
  };
  EXPECT_EQ(lanes("x86-64-v4"), 8);
  EXPECT_EQ(lanes("x86-64-v2"), 4);
}

TEST(Space, SoftmaxIsOneNestOfRows) {
  Target target = Named("x86-64-v4");
  te::Program program = te::Canonicalize(testing::Softmax(64, 128));
  Space space = Space::Create(program, target, 2);
  Rng rng(1);
  schedule::Schedule s = space.Emit(space.Sample(rng));
  int root = 0;
  for (const auto& stage : s.stages) {
    root += stage.place.kind == schedule::PlaceKind::kRoot ? 1 : 0;
  }
  EXPECT_EQ(root, 1);
}

// Reductions along the contiguous axis load vectors, and their lanes are combined once a row.
TEST(Space, ReductionsAlongTheContiguousAxisAreSplit) {
  Target target = Named("x86-64-v4");
  struct Case {
    te::Program program;
    size_t splits;
  };
  for (const Case& c :
       {Case{testing::Softmax(64, 128), 4}, Case{testing::LayerNorm(16, 768), 4},
        Case{testing::RowMean(100, 49), 2}, Case{testing::MatVec(100, 512), 2},
        Case{testing::GlobalAvgPool(7, 7, 64), 0}, Case{testing::MatmulBiasRelu(1, 1000, 2048), 0},
        Case{testing::BatchMatmul(2, 16, 16, 64), 0}}) {
    te::Program program = te::Canonicalize(c.program);
    Space space = Space::Create(program, target, 1);
    Rng rng(1);
    schedule::Schedule s = space.Emit(space.Sample(rng));
    auto splits = std::count_if(s.steps.begin(), s.steps.end(), [](const schedule::Step& step) {
      return step.kind == schedule::StepKind::kSplitReduction;
    });
    EXPECT_EQ(splits, c.splits) << c.program.name << ": " << schedule::ToText(s);
  }
}

TEST(Space, MutationAndCrossoverStayInTheSpace) {
  Target target = Named("x86-64-v4");
  for (const auto& p : Programs()) {
    Space space = Space::Create(p.program, target, 2);
    Rng rng(9);
    Decision a = space.Sample(rng), b = space.Sample(rng);
    int changed = 0;
    for (int i = 0; i < 40; ++i) {
      Decision child = space.Mutate(a, rng);
      changed += child != a ? 1 : 0;
      Decision mixed = space.Cross(child, b, rng);
      ASSERT_EQ(mixed.size(), space.knobs().size());
      for (size_t k = 0; k < mixed.size(); ++k) {
        ASSERT_GE(child[k], 0);
        ASSERT_LT(child[k], static_cast<int>(space.knobs()[k].values.size()));
        EXPECT_TRUE(mixed[k] == child[k] || mixed[k] == b[k]);
      }
      a = child;
    }
    if (space.Size() > 1) {
      EXPECT_GT(changed, 20) << p.name;
    }
  }
}

TEST(Space, TheSameSeedGivesTheSameSamples) {
  Target target = Named("x86-64-v3");
  te::Program program = te::Canonicalize(testing::Conv({14, 14, 32, 64, 3, 1, 1}));
  Space space = Space::Create(program, target, 2);
  Rng a(42), b(42);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(space.Sample(a), space.Sample(b));
}

TEST(Space, ParallelLoopsOnlyForSeveralThreads) {
  Target target = Named("x86-64-v4");
  te::Program program = te::Canonicalize(testing::Conv({14, 14, 32, 64, 3, 1, 1}));
  for (int threads : {1, 2}) {
    Space space = Space::Create(program, target, threads);
    Rng rng(2);
    int parallel = 0;
    for (int i = 0; i < 40; ++i) {
      for (const auto& stage : space.Emit(space.Sample(rng)).stages) {
        for (const auto& loop : stage.order) parallel += loop.bind == tir::Bind::kParallel ? 1 : 0;
      }
    }
    EXPECT_EQ(parallel > 0, threads > 1);
  }
}

}  // namespace
}  // namespace temper::tuner
