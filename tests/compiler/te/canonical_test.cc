#include "compiler/te/canonical.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "compiler/te/printer.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

using tir::Expr;

TEST(CanonicalTest, TextIsParsedBack) {
  std::set<std::string> hashes;
  for (const auto& [name, program] : testing::SmallPrograms()) {
    ASSERT_TRUE(Verify(program).ok()) << name << ": " << Verify(program).ToString();
    const std::string text = CanonicalText(program);
    Result<Program> parsed = ParseProgram(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << text;
    EXPECT_EQ(CanonicalText(*parsed), text);
    EXPECT_EQ(WorkloadHash(*parsed), WorkloadHash(program));
    EXPECT_EQ(FlopCount(*parsed), FlopCount(program)) << name;
    hashes.insert(WorkloadHash(program).Hex());
  }
  EXPECT_EQ(hashes.size(), testing::SmallPrograms().size());
}

TEST(CanonicalTest, TheTextIsWhatRecordsHold) {
  // A change here makes every stored record a miss.
  EXPECT_EQ(CanonicalText(testing::Conv({.height = 4, .width = 4, .in = 2, .out = 3})),
            "temper-program 1\n"
            "in float32[1,4,4,2] halo [0,1,1,0] [0,1,1,0]\n"
            "in float32[3,3,2,3] constant\n"
            "in float32[3] constant\n"
            "stage sum [1,4,4,3] reduce [3,3,2] : "
            "mul(t0[a0,sub(add(a1,a4),1),sub(add(a2,a5),1),a6],t1[a4,a5,a6,a3])\n"
            "stage none [1,4,4,3] : "
            "max(add(t3[a0,a1,a2,a3],t2[a3]),float32:0000000000000000)\n"
            "out 4\n");
}

// Two independent reductions and their sum, built in either order and with other names.
Program TwoBranches(bool swapped, const std::string& prefix) {
  Program p;
  p.name = prefix;
  const int x = p.AddInput(prefix + "x", DType::kFloat32, {8, 4});
  const int y = p.AddInput(prefix + "y", DType::kFloat32, {8, 4});
  auto reduce = [&](int input, Combiner combiner) {
    Stage s;
    s.name = prefix + "r";
    s.spatial.push_back({p.NewVar(prefix + "i"), 8});
    s.reduce.push_back({p.NewVar(prefix + "k"), 4});
    s.combiner = combiner;
    Expr at[] = {s.spatial[0].var, s.reduce[0].var};
    s.body = p.Read(input, at);
    return p.AddStage(std::move(s));
  };
  int a, b;
  if (swapped) {
    b = reduce(y, Combiner::kMax);
    a = reduce(x, Combiner::kSum);
  } else {
    a = reduce(x, Combiner::kSum);
    b = reduce(y, Combiner::kMax);
  }
  Stage s;
  s.spatial.push_back({p.NewVar(prefix + "j"), 8});
  Expr at[] = {s.spatial[0].var};
  s.body = p.Read(a, at) + p.Read(b, at);
  p.outputs = {p.AddStage(std::move(s))};
  return p;
}

TEST(CanonicalTest, NamesAndOrderOfIndependentStagesDoNotMatter) {
  const Program a = TwoBranches(false, "a"), b = TwoBranches(true, "other");
  ASSERT_TRUE(Verify(a).ok());
  ASSERT_TRUE(Verify(b).ok());
  EXPECT_EQ(CanonicalText(a), CanonicalText(b));
  EXPECT_EQ(WorkloadHash(a), WorkloadHash(b));
}

TEST(CanonicalTest, StagesThatNoOutputNeedsDoNotMatter) {
  Program a = TwoBranches(false, "a");
  const Hash before = WorkloadHash(a);
  Stage s;
  s.spatial.push_back({a.NewVar("u"), 8});
  Expr at[] = {s.spatial[0].var, Expr(0)};
  s.body = a.Read(0, at);
  a.AddStage(std::move(s));
  ASSERT_TRUE(Verify(a).ok());
  EXPECT_EQ(WorkloadHash(a), before);
  EXPECT_EQ(Canonicalize(a).stages.size(), 3u);
}

TEST(CanonicalTest, WhatChangesTheComputationChangesTheHash) {
  const Program base = testing::MatmulBiasRelu(8, 8, 8);
  const Hash hash = WorkloadHash(base);
  EXPECT_NE(WorkloadHash(testing::MatmulBiasRelu(8, 8, 9)), hash);
  Program p = base;
  p.tensors[1].constant = false;
  EXPECT_NE(WorkloadHash(p), hash);
  p = base;
  p.tensors[0].halo_before = p.tensors[0].halo_after = {1, 0};
  EXPECT_NE(WorkloadHash(p), hash);
  p.tensors[0].halo_before = p.tensors[0].halo_after = {0, 0};
  EXPECT_EQ(WorkloadHash(p), hash);
  p = base;
  std::swap(p.inputs[0], p.inputs[1]);  // the order of the arguments
  EXPECT_NE(WorkloadHash(p), hash);
  p = base;
  p.stages[0].combiner = Combiner::kMax;
  EXPECT_NE(WorkloadHash(p), hash);
}

TEST(CanonicalTest, CanonicalizeGivesTheOrderOfTheText) {
  for (const Program& p : {TwoBranches(true, "b"), testing::Softmax(4, 5)}) {
    const Program c = Canonicalize(p);
    ASSERT_TRUE(Verify(c).ok()) << Verify(c).ToString();
    EXPECT_EQ(CanonicalText(c), CanonicalText(p));
    const Program parsed = *ParseProgram(CanonicalText(p));
    ASSERT_EQ(parsed.stages.size(), c.stages.size());
    for (size_t s = 0; s < c.stages.size(); ++s) {
      EXPECT_EQ(parsed.stages[s].tensor, c.stages[s].tensor);
      EXPECT_TRUE(tir::Equal(parsed.stages[s].body, c.stages[s].body));
    }
    EXPECT_EQ(parsed.inputs, c.inputs);
    EXPECT_EQ(parsed.outputs, c.outputs);
    EXPECT_EQ(c.next_var, parsed.next_var);
  }
}

TEST(CanonicalTest, ImmediatesOfEveryTypeSurvive) {
  Program p;
  const int x = p.AddInput("x", DType::kFloat32, {4});
  Stage s;
  s.spatial.push_back({p.NewVar("i"), 4});
  Expr at[] = {s.spatial[0].var};
  s.body = p.Read(x, at);
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    s.body = s.body + tir::Cast(DType::kFloat32, tir::Number(dtype, 1));
  }
  s.body = s.body + tir::FloatImm(DType::kFloat32, 0.1) * tir::FloatImm(DType::kFloat32, -0.0);
  p.outputs = {p.AddStage(std::move(s))};
  const std::string text = CanonicalText(p);
  Result<Program> parsed = ParseProgram(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(CanonicalText(*parsed), text);
  // 0.1 as a float32 holds it: the same identity whether or not the source rounded it first.
  EXPECT_NE(text.find("float32:3fb99999a0000000"), std::string::npos) << text;
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(CanonicalTest, BadTextsAreRefusedWithTheLine) {
  const BadText cases[] = {
      {"", "line 1: it does not begin with"},
      {"temper-program 2\n", "line 1: it does not begin"},
      {"temper-program 1\n", "line 2: 'in', 'stage' or 'out' belongs here"},
      {"temper-program 1\nin float33[4]\n", "line 2: no element type"},
      {"temper-program 1\nin float32[4\n", "line 2: ']' belongs"},
      {"temper-program 1\nin float32[-4]\n", "line 2: an extent out of bounds"},
      {"temper-program 1\nin float32[99999999999999999999]\n", "line 2: no integer"},
      {"temper-program 1\nin float32[4] halo [1,1] [0]\n", "another rank"},
      {"temper-program 1\nin float32[4]\nstage sun [4] : t0[a0]\n", "line 3: a stage begins"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t1[a0]\n", "line 3: no expression"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a1]\n", "line 3: no expression"},
      {"temper-program 1\nin float32[4]\nstage none [4] : add(t0[a0])\n", "add takes 2 operands"},
      {"temper-program 1\nin float32[4]\nstage none [4] : zap(t0[a0])\n", "no operation"},
      {"temper-program 1\nin float32[4]\nstage none [4] : exp()\n", "no operands"},
      {"temper-program 1\nin float32[4]\nstage none [4] : float32:12\nout 1\n", "16 hexadecimal"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a0]\nout 9\n", "line 4: tensor 9"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a0]\nout 1\nx", "behind the end"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a0]\nout 0\n", "is not computed"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a0]\nout\n", "no output"},
      {"temper-program 1\nin float32[4]\nstage sum [4] : t0[a0]\nout 1\n", "go together"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[a0,a0]\nout 1\n", "2 indices"},
      {"temper-program 1\nin float32[4]\nstage none [4] : add(t0[a0],1)\nout 1\n",
       "operand of type"},
      {"temper-program 1\nin float32[4]\nstage none [4] : t0[t0[a0]]\nout 1\n", "index of type"},
      {"temper-program 1\nin float32[4]\nstage none [4] : pow(t0[a0])\nout 1\n", "1 operands"},
      {"temper-program 1\nin float32[4]\nstage none [4] : int8:300\nout 1\n", "does not fit"},
      {"temper-program 1\nin float32[1099511627776,9]\nstage none [4] : 1\nout 1\n", "2^40"},
      {"temper-program 1\nin float32[0,1099511627776,9]\nstage none [4] : 1\nout 1\n", "2^40"},
  };
  for (const BadText& c : cases) {
    Result<Program> parsed = ParseProgram(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_NE(parsed.status().message().find(c.message), std::string::npos)
        << c.text << parsed.status().message();
  }
  std::string deep = "temper-program 1\nin float32[4]\nstage none [4] : ";
  for (int i = 0; i < 100000; ++i) deep += "exp(";
  EXPECT_NE(ParseProgram(deep).status().message().find("too deeply"), std::string::npos);
  std::string many = "temper-program 1\n";
  for (int i = 0; i < 200; ++i) many += "in float32[]\n";
  EXPECT_NE(ParseProgram(many).status().message().find("more than 128 tensors"), std::string::npos);
  EXPECT_NE(ParseProgram(std::string(size_t{2} << 20, 'x')).status().message().find("at most"),
            std::string::npos);
}

TEST(CanonicalTest, MutatedTextsNeverCrash) {
  Rng rng(7);
  std::vector<std::string> texts;
  for (const auto& named : testing::SmallPrograms()) texts.push_back(CanonicalText(named.program));
  const std::string alphabet = "0123456789,:[]()- \nat_dloin";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = texts[rng.Uniform(texts.size())];
    for (uint64_t edits = 1 + rng.Uniform(3); edits > 0; --edits) {
      const size_t at = rng.Uniform(text.size());
      switch (rng.Uniform(4)) {
        case 0:
          text[at] = alphabet[rng.Uniform(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + rng.Uniform(8));
          break;
        case 2:
          text.insert(at, 1, alphabet[rng.Uniform(alphabet.size())]);
          break;
        default: {
          const std::string& other = texts[rng.Uniform(texts.size())];
          text = text.substr(0, at) + other.substr(rng.Uniform(other.size()));
        }
      }
      if (text.empty()) break;
    }
    Result<Program> parsed = ParseProgram(text);
    if (!parsed.ok()) {
      ASSERT_EQ(parsed.status().code(), Code::kInvalidArgument);
      continue;
    }
    ++accepted;
    // What is accepted has a canonical form of its own.
    const std::string canonical = CanonicalText(*parsed);
    ASSERT_EQ(CanonicalText(*ParseProgram(canonical)), canonical);
  }
  EXPECT_GT(accepted, 0);
}

TEST(PrinterTest, ShowsAProgramToPeople) {
  EXPECT_EQ(ToText(testing::MatmulBiasRelu(4, 8, 16)),
            "program matmul_bias_relu\n"
            "  input x: float32[4, 16]\n"
            "  constant w: float32[16, 8]\n"
            "  constant bias: float32[8]\n"
            "  acc[i < 4, j < 8] = sum(k < 16) x[i, k] * w[k, j]\n"
            "  output y[i < 4, j < 8] = max(acc[i, j] + bias[j], 0f)\n");
}

}  // namespace
}  // namespace temper::te
