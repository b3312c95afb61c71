#include "compiler/schedule/text.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/schedules.h"

namespace temper::schedule {
namespace {

constexpr const char* kZeros = "0000000000000000000000000000000000000000000000000000000000000000";

std::string Header() {
  return std::string("temper-schedule 1 workload=") + kZeros + " alternative=0 threads=1;";
}

Schedule Example() {
  Schedule s;
  s.steps.push_back({StepKind::kPack, 1, {{1, 2, 32}, {0, 64, 1}, {1, 32, 1}}});
  s.steps.push_back({StepKind::kWriteCache, 0, {}});
  s.stages.resize(3);
  s.stages[0].place.kind = PlaceKind::kConstant;
  s.stages[0].scope = tir::Scope::kParam;
  s.stages[1].groups = {
      {{0}, {14}, Edge::kClip}, {{1, 2}, {4, 16}, Edge::kDivides}, {{3}, {}, Edge::kMask}};
  s.stages[1].order = {{0, 0, Bind::kParallel}, {1, 0}, {2, 0}, {1, 1}, {0, 1, Bind::kUnroll},
                       {1, 2, Bind::kVector}};
  s.stages[1].place = {PlaceKind::kAt, 2, 4};
  s.stages[1].scope = tir::Scope::kRegister;
  s.stages[1].prefetches = {{2, 3, 16}};
  return s;
}

TEST(ScheduleTextTest, IsOneReadableLine) {
  EXPECT_EQ(ToText(Example()),
            Header() +
                " pack t1 (a1 e2 s32) (a0 e64) (a1 e32); write-cache s0; stage 0 constant param; "
                "stage 1 at 2.4 register groups [0/14 clip] [1,2/4,16] [3 mask] "
                "order 0.0p 1.0 2.0 1.1 0.1u 1.2v prefetch t2 loop 3 ahead 16; "
                "stage 2 root workspace;");
}

TEST(ScheduleTextTest, SplitsOfReductionsAreSteps) {
  Schedule s;
  s.threads = 1;
  s.steps.push_back({StepKind::kSplitReduction, 1, {}, 2, 64});
  EXPECT_EQ(ToText(s), Header() + " split-reduction s1 a2 into 64;");
  Result<Schedule> parsed = ParseText(ToText(s));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_TRUE(*parsed == s);
}

TEST(ScheduleTextTest, RandomSchedulesRoundTripWithDistinctHashes) {
  Rng rng(3);
  std::set<Hash> hashes;
  for (int round = 0; round < 2000; ++round) {
    const Schedule s = testing::RandomSchedule(rng);
    ASSERT_TRUE(CheckBounds(s).ok());
    const std::string text = ToText(s);
    Result<Schedule> parsed = ParseText(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << text;
    ASSERT_TRUE(*parsed == s) << text;
    ASSERT_EQ(ScheduleHash(*parsed), ScheduleHash(s));
    hashes.insert(ScheduleHash(s));
  }
  EXPECT_EQ(hashes.size(), 2000u);
}

TEST(ScheduleTextTest, MayBeWrittenByHandOverSeveralLines) {
  Result<Schedule> s = ParseText("temper-schedule 1\n  workload=" + std::string(kZeros) +
                                 "\n alternative=0\tthreads=1 ;\nstage 0 root  workspace\n"
                                 "groups [ 0 , 1 / 8 mask ]\norder 0.0 0.1v ;\n");
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  EXPECT_EQ(ToText(*s), Header() + " stage 0 root workspace groups [0,1/8 mask] order 0.0 0.1v;");
}

TEST(ScheduleTextTest, BadTextsAreRefusedWithThePosition) {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "character 0: it does not begin"},
      {"temper-schedule 2", "it does not begin"},
      {"temper-schedule 1 workload=12", "character 27"},
      {"temper-schedule 1 alternative=0", "character 17: 'workload=' belongs here"},
      {Header() + " stag 0", "split-reduction or stage belongs here"},
      {Header() + " stage 1 root param;", "stage 0 belongs here, not 1"},
      {Header() + " stage 0 roof param;", "a place belongs here: root, inline, constant, at"},
      {Header() + " stage 0 root paper;", "a scope belongs here"},
      {Header() + " stage 0 at 1 param;", "'.' belongs here"},
      {Header() + " stage 0 root param", "';' belongs here"},
      {Header() + " stage 0 root param groups [0/x];", "a number belongs here"},
      {Header() + " stage 0 root param groups [0 trim];", "an edge policy belongs here"},
      {Header() + " stage 0 root param groups [0/99999999999999999999];", "too large"},
      {Header() + " stage 0 root param groups [99999999999];", "too large"},
      {Header() + " stage 0 root param groups [0/2000000000000];", "out of bounds"},
      {Header() + " stage 0 root param order 0.0w;", "bound by p, v, u"},
      {Header() + " stage 0 root param order 0;", "'.' belongs here"},
      {Header() + " stage 0 root param prefetch 2;", "'t' belongs here"},
      {Header() + " stage 0 root param; write-cache s0;", "a step behind the first stage"},
      {Header() + " pack t0 (a0 e-1);", "a number belongs here"},
      {Header() + " pack x;", "'t' belongs here"},
      {Header() + std::string(size_t{2} << 20, ' '), "at most"},
  };
  for (const Case& c : cases) {
    Result<Schedule> s = ParseText(c.text);
    ASSERT_FALSE(s.ok()) << c.text;
    EXPECT_EQ(s.status().code(), Code::kInvalidArgument);
    EXPECT_NE(s.status().message().find(c.message), std::string::npos)
        << c.text.substr(0, 200) << "\n"
        << s.status().message();
  }
  auto repeated = [](const std::string& before, const std::string& piece, int n) {
    std::string text = Header() + before;
    for (int i = 0; i < n; ++i) text += piece;
    return ParseText(text + ";").status().message();
  };
  EXPECT_NE(repeated(" stage 0 root param groups", " [0]", 33).find("too many groups"),
            std::string::npos);
  EXPECT_NE(repeated(" stage 0 root param order", " 0.0", 65).find("too many loops"),
            std::string::npos);
  EXPECT_NE(repeated(" pack t0", " (a0 e1)", 25).find("too many dimensions"), std::string::npos);
  EXPECT_NE(repeated("", " write-cache s0;", 65).find("more than 64 steps"), std::string::npos);
  EXPECT_NE(repeated(" stage 0 root param", " prefetch t0 loop 0 ahead 1", 17)
                .find("too many prefetches"),
            std::string::npos);
}

TEST(ScheduleTextTest, MutatedTextsNeverCrash) {
  Rng rng(11);
  const std::string alphabet = "0123456789,./[]() ;pvusate";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = ToText(testing::RandomSchedule(rng));
    for (uint64_t edits = 1 + rng.Uniform(3); edits > 0 && !text.empty(); --edits) {
      const size_t at = rng.Uniform(text.size());
      switch (rng.Uniform(3)) {
        case 0:
          text[at] = alphabet[rng.Uniform(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + rng.Uniform(8));
          break;
        default:
          text.insert(at, 1, alphabet[rng.Uniform(alphabet.size())]);
      }
    }
    Result<Schedule> s = ParseText(text);
    if (!s.ok()) {
      ASSERT_EQ(s.status().code(), Code::kInvalidArgument);
      continue;
    }
    ++accepted;
    ASSERT_TRUE(*ParseText(ToText(*s)) == *s);
  }
  EXPECT_GT(accepted, 100);
}

TEST(ScheduleHashTest, CoversEverything) {
  const Schedule base = Example();
  const Hash hash = ScheduleHash(base);
  std::set<Hash> seen = {hash};
  auto changed = [&](auto edit) {
    Schedule s = base;
    edit(s);
    EXPECT_TRUE(seen.insert(ScheduleHash(s)).second) << ToText(s);
  };
  changed([](Schedule& s) { s.workload.bytes[31] = 1; });
  changed([](Schedule& s) { s.alternative = 1; });
  changed([](Schedule& s) { s.threads = 2; });
  changed([](Schedule& s) { s.steps.pop_back(); });
  changed([](Schedule& s) { s.steps[0].target = 2; });
  changed([](Schedule& s) { s.steps.push_back({StepKind::kSplitReduction, 1, {}, 2, 64}); });
  changed([](Schedule& s) { s.steps.push_back({StepKind::kSplitReduction, 1, {}, 3, 64}); });
  changed([](Schedule& s) { s.steps.push_back({StepKind::kSplitReduction, 1, {}, 2, 32}); });
  changed([](Schedule& s) { s.steps[0].dims[0].extent = 3; });
  changed([](Schedule& s) { s.steps[0].dims[0].step = 3; });
  changed([](Schedule& s) { s.steps[0].dims[0].axis = 3; });
  changed([](Schedule& s) { s.stages.pop_back(); });
  changed([](Schedule& s) { s.stages[1].groups[1].factors = {4, 17}; });
  changed([](Schedule& s) { s.stages[1].groups[1].axes = {1}; });
  changed([](Schedule& s) { s.stages[1].groups[0].edge = Edge::kMask; });
  changed([](Schedule& s) { s.stages[1].order[0].bind = Bind::kSerial; });
  changed([](Schedule& s) { std::swap(s.stages[1].order[1], s.stages[1].order[2]); });
  changed([](Schedule& s) { s.stages[1].place.loop = 3; });
  changed([](Schedule& s) { s.stages[1].place.stage = 3; });
  changed([](Schedule& s) { s.stages[1].place = {}; });
  changed([](Schedule& s) { s.stages[1].scope = tir::Scope::kStack; });
  changed([](Schedule& s) { s.stages[1].prefetches[0].distance = 8; });
}

TEST(ScheduleHashTest, IsTheSameOnEveryPlatform) {
  // A change here makes every stored record a miss.
  EXPECT_EQ(ScheduleHash(Example()).Hex(),
            "479336535d920da0f322b1cc96826d6117608a7284993715d55f349b3ddff95b");
}

TEST(CheckBoundsTest, RefusesWhatIsOutOfBounds) {
  auto refused = [](auto edit) {
    Schedule s = Example();
    edit(s);
    return CheckBounds(s).code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(CheckBounds(Example()).ok());
  EXPECT_TRUE(refused([](Schedule& s) { s.threads = -1; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.steps.resize(kMaxSteps + 1); }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages.resize(kMaxStageSchedules + 1); }));
  EXPECT_TRUE(refused([](Schedule& s) { s.steps[0].target = -1; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages[1].groups[0].edge = static_cast<Edge>(9); }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages[1].groups[0].factors[0] = -4; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages[1].order[0].level = -4; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages[1].place.stage = -4; }));
  EXPECT_TRUE(refused([](Schedule& s) { s.stages[1].prefetches[0].loop = -4; }));
}

}  // namespace
}  // namespace temper::schedule
