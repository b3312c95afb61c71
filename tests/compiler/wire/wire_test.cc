#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "compiler/te/canonical.h"
#include "compiler/wire/wire_program.h"
#include "compiler/wire/wire_schedule.h"
#include "compiler/wire/wire_target.h"
#include "tests/support/programs.h"
#include "tests/support/schedules.h"

namespace temper::wire {
namespace {

TEST(WireProgramTest, RoundTripsTheCanonicalProgram) {
  for (const auto& [name, program] : testing::SmallPrograms()) {
    proto::Workload parsed;
    ASSERT_TRUE(parsed.ParseFromString(ToProto(program).SerializeAsString()));
    Result<te::Program> back = FromProto(parsed);
    ASSERT_TRUE(back.ok()) << name << ": " << back.status().ToString();
    const te::Program canonical = te::Canonicalize(program);
    EXPECT_EQ(te::CanonicalText(*back), te::CanonicalText(program)) << name;
    ASSERT_EQ(back->stages.size(), canonical.stages.size());
    for (size_t s = 0; s < back->stages.size(); ++s) {
      EXPECT_TRUE(tir::Equal(back->stages[s].body, canonical.stages[s].body));
      EXPECT_EQ(back->stages[s].name, canonical.stages[s].name);
    }
    for (size_t t = 0; t < back->tensors.size(); ++t) {
      EXPECT_EQ(back->tensors[t].name, canonical.tensors[t].name);
      EXPECT_EQ(back->tensors[t].halo_before, canonical.tensors[t].halo_before);
    }
    EXPECT_EQ(back->name, canonical.name);
    EXPECT_EQ(back->inputs, canonical.inputs);
    EXPECT_EQ(back->outputs, canonical.outputs);
  }
}

TEST(WireProgramTest, EveryKindAndFunctionTravels) {
  te::Program p;
  const int x = p.AddInput("x", DType::kFloat32, {8});
  te::Stage s;
  s.spatial.push_back({p.NewVar("i"), 8});
  tir::Expr i = s.spatial[0].var, at[] = {i};
  tir::Expr f = p.Read(x, at), n = tir::Cast(DType::kInt32, f);
  std::vector<tir::Expr> ints = {tir::Mod(n, n), tir::FloorDiv(n, n), tir::FloorMod(n, n),
                                 tir::Not(n)};
  for (auto kind : {tir::ExprKind::kAnd, tir::ExprKind::kOr, tir::ExprKind::kXor,
                    tir::ExprKind::kShl, tir::ExprKind::kShr}) {
    ints.push_back(tir::Binary(kind, n, n));
  }
  for (const tir::Expr& e : ints) f = f + tir::Cast(DType::kFloat32, e);
  for (auto kind :
       {tir::ExprKind::kEq, tir::ExprKind::kNe, tir::ExprKind::kLt, tir::ExprKind::kLe}) {
    f = tir::Select(tir::Binary(kind, i, 3), f, tir::Div(f, f) - tir::Min(f, f));
  }
  for (int k = 0; k < tir::kIntrinsicCount; ++k) {
    const auto function = static_cast<tir::Intrinsic>(k);
    const bool binary = function == tir::Intrinsic::kPow || function == tir::Intrinsic::kFmod;
    tir::Expr v = p.Read(x, at);
    tir::Expr call = binary ? tir::Call(function, {v, v}) : tir::Call(function, {v});
    f = f + tir::Cast(DType::kFloat32, call);
  }
  for (int d = 0; d < kDTypeCount; ++d) {
    f = f + tir::Cast(DType::kFloat32, tir::Number(static_cast<DType>(d), 1));
  }
  s.body = f;
  p.outputs = {p.AddStage(std::move(s))};
  // The selects use their value five times each: shared, the list is far shorter than the tree.
  ASSERT_TRUE(te::Verify(p).ok());
  Result<te::Program> back = FromProto(ToProto(p));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(te::CanonicalText(*back), te::CanonicalText(p));
}

// A message, edited, and what the refusal must say.
template <typename F>
void Refuses(const std::string& why, F&& edit) {
  proto::Workload m = ToProto(testing::MatmulBiasRelu(4, 8, 16));
  ASSERT_TRUE(FromProto(m).ok());
  edit(m);
  Result<te::Program> p = FromProto(m);
  ASSERT_FALSE(p.ok()) << why;
  EXPECT_EQ(p.status().code(), Code::kInvalidArgument);
  EXPECT_NE(p.status().message().find(why), std::string::npos) << p.status().message();
}

TEST(WireProgramTest, RefusesWhatIsWrong) {
  using W = proto::Workload;
  Refuses("no stage", [](W& m) {
    m.clear_stages();
    m.clear_outputs();
  });
  Refuses("workload, input 0: unknown element type 99",
          [](W& m) { m.mutable_inputs(0)->set_dtype(static_cast<proto::DataType>(99)); });
  Refuses("unknown element type 0", [](W& m) { m.mutable_inputs(0)->clear_dtype(); });
  Refuses("extent -1", [](W& m) { m.mutable_inputs(0)->set_shape(0, -1); });
  Refuses("extents; at most", [](W& m) {
    for (int i = 0; i < 100; ++i) m.mutable_inputs(0)->add_shape(1);
  });
  Refuses("2^40", [](W& m) {
    m.mutable_inputs(0)->set_shape(0, int64_t{1} << 39);
    m.mutable_inputs(0)->set_shape(1, int64_t{1} << 39);
  });
  Refuses("halo of another rank", [](W& m) { m.mutable_inputs(0)->add_halo_before(1); });
  Refuses("a name of", [](W& m) { m.set_name(std::string(1000, 'x')); });
  Refuses("1000 inputs", [](W& m) {
    while (m.inputs_size() < 1000) m.add_inputs();
  });
  Refuses("unknown combiner", [](W& m) { m.mutable_stages(0)->clear_combiner(); });
  Refuses("go together", [](W& m) { m.mutable_stages(0)->set_combiner(proto::COMBINER_NONE); });
  Refuses("another type",
          [](W& m) { m.mutable_stages(1)->mutable_result()->set_dtype(proto::DATA_TYPE_INT8); });
  Refuses("a constant is computed",
          [](W& m) { m.mutable_stages(0)->mutable_result()->set_constant(true); });
  Refuses("a body of 0 nodes", [](W& m) { m.mutable_stages(0)->clear_body(); });
  Refuses("unknown kind", [](W& m) { m.mutable_stages(0)->mutable_body(0)->clear_kind(); });
  Refuses("axis 3 of 3", [](W& m) { m.mutable_stages(0)->mutable_body(0)->set_integer(3); });
  Refuses("axis -1", [](W& m) { m.mutable_stages(0)->mutable_body(0)->set_integer(-1); });
  Refuses("a leaf with operands", [](W& m) {
    auto* n = m.mutable_stages(0)->add_body();
    n->set_kind(proto::EXPR_KIND_AXIS);
    n->add_operands(0);
  });
  Refuses("operand 4000000000 is no earlier node", [](W& m) {
    auto* s = m.mutable_stages(0);
    s->mutable_body(s->body_size() - 1)->set_operands(0, 4000000000u);
  });
  Refuses("tensor 3 is not there yet", [](W& m) {
    for (auto& n : *m.mutable_stages(0)->mutable_body()) {
      if (n.kind() == proto::EXPR_KIND_LOAD) n.set_integer(3);
    }
  });
  Refuses("indices", [](W& m) {
    for (auto& n : *m.mutable_stages(0)->mutable_body()) {
      if (n.kind() == proto::EXPR_KIND_LOAD) n.clear_operands();
    }
  });
  Refuses("operands are missing",
          [](W& m) { m.mutable_stages(0)->add_body()->set_kind(proto::EXPR_KIND_ADD); });
  Refuses("operands where", [](W& m) {
    auto* n = m.mutable_stages(0)->add_body();
    n->set_kind(proto::EXPR_KIND_ADD);
    n->add_operands(0);
  });
  Refuses("unknown function", [](W& m) {
    auto* n = m.mutable_stages(0)->add_body();
    n->set_kind(proto::EXPR_KIND_CALL);
    n->add_operands(0);
  });
  Refuses("does not fit", [](W& m) {
    auto* n = m.mutable_stages(0)->add_body();
    n->set_kind(proto::EXPR_KIND_INTEGER);
    n->set_dtype(proto::DATA_TYPE_INT8);
    n->set_integer(1000);
  });
  Refuses("output 77", [](W& m) { m.set_outputs(0, 77); });
  Refuses("is not computed", [](W& m) { m.set_outputs(0, 0); });
}

TEST(WireProgramTest, ASmallListCannotStandForAHugeTree) {
  Refuses("too large", [](proto::Workload& m) {
    auto* s = m.mutable_stages(0);
    for (int i = 0; i < 200; ++i) {
      auto* n = s->add_body();
      n->set_kind(proto::EXPR_KIND_ADD);
      n->add_operands(static_cast<uint32_t>(s->body_size() - 2));
      n->add_operands(static_cast<uint32_t>(s->body_size() - 2));
    }
  });
  Refuses("too deeply", [](proto::Workload& m) {
    auto* s = m.mutable_stages(0);
    for (int i = 0; i < 1000; ++i) {
      auto* n = s->add_body();
      n->set_kind(proto::EXPR_KIND_NOT);
      n->add_operands(static_cast<uint32_t>(s->body_size() - 2));
    }
  });
  Refuses("a body of", [](proto::Workload& m) {
    auto* s = m.mutable_stages(0);
    while (s->body_size() <= kMaxBodyNodes) *s->add_body() = s->body(0);
  });
}

TEST(WireProgramTest, NamesLoseTheirControlCharacters) {
  proto::Workload m = ToProto(testing::MatmulBiasRelu(4, 8, 16));
  m.set_name("a\nb\x1b[31m");
  EXPECT_EQ(FromProto(m)->name, "a\\nb\\x1b[31m");
}

TEST(WireScheduleTest, RoundTrips) {
  Rng rng(5);
  for (int round = 0; round < 1000; ++round) {
    const schedule::Schedule s = testing::RandomSchedule(rng);
    proto::Schedule parsed;
    ASSERT_TRUE(parsed.ParseFromString(ToProto(s).SerializeAsString()));
    Result<schedule::Schedule> back = FromProto(parsed);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    ASSERT_TRUE(*back == s);
  }
}

TEST(WireScheduleTest, RefusesWhatIsWrong) {
  schedule::Schedule base;
  base.steps.resize(1);
  base.steps[0].target = 0;
  base.stages.resize(1);
  base.stages[0].groups = {{{0}, {4}, schedule::Edge::kMask}};
  base.stages[0].order = {{0, 0}};
  auto refuses = [&](const std::string& why, auto edit) {
    proto::Schedule m = ToProto(base);
    ASSERT_TRUE(FromProto(m).ok());
    edit(m);
    Result<schedule::Schedule> s = FromProto(m);
    ASSERT_FALSE(s.ok()) << why;
    EXPECT_EQ(s.status().code(), Code::kInvalidArgument);
    EXPECT_NE(s.status().message().find(why), std::string::npos) << s.status().message();
  };
  using S = proto::Schedule;
  refuses("workload", [](S& m) { m.set_workload("short"); });
  refuses("steps; at most", [](S& m) {
    while (m.steps_size() < 1000) *m.add_steps() = m.steps(0);
  });
  refuses("stages; at most", [](S& m) {
    while (m.stages_size() < 1000) *m.add_stages() = m.stages(0);
  });
  refuses("unknown step 0", [](S& m) { m.mutable_steps(0)->clear_kind(); });
  refuses("step's target", [](S& m) { m.mutable_steps(0)->set_target(-3); });
  refuses("dimensions in a pack", [](S& m) {
    while (m.steps(0).dims_size() < 100) m.mutable_steps(0)->add_dims();
  });
  refuses("stage 0: unknown place", [](S& m) { m.mutable_stages(0)->clear_place(); });
  refuses("unknown scope", [](S& m) { m.mutable_stages(0)->clear_scope(); });
  refuses("unknown edge policy 77", [](S& m) {
    m.mutable_stages(0)->mutable_groups(0)->set_edge(static_cast<proto::Edge>(77));
  });
  refuses("unknown bind", [](S& m) { m.mutable_stages(0)->mutable_order(0)->clear_bind(); });
  refuses("a factor is -4",
          [](S& m) { m.mutable_stages(0)->mutable_groups(0)->set_factors(0, -4); });
  refuses("groups; at most", [](S& m) {
    while (m.stages(0).groups_size() < 100) m.mutable_stages(0)->add_groups();
  });
  refuses("loops; at most", [](S& m) {
    while (m.stages(0).order_size() < 100) m.mutable_stages(0)->add_order();
  });
  refuses("prefetches; at most", [](S& m) {
    while (m.stages(0).prefetches_size() < 100) m.mutable_stages(0)->add_prefetches();
  });
}

TEST(WireTargetTest, RoundTrips) {
  std::vector<Target> targets = {DetectTarget()};
  for (const std::string& name : KnownTargets()) targets.push_back(*ParseTarget(name));
  targets.push_back(targets.back());
  targets.back().rates = RatesOf(targets.back());
  for (const Target& t : targets) {
    Result<Target> back = FromProto(ToProto(t));
    ASSERT_TRUE(back.ok()) << t.name << ": " << back.status().ToString();
    EXPECT_EQ(TargetText(*back), TargetText(t));
    EXPECT_EQ(Fingerprint(*back), Fingerprint(t));
    EXPECT_EQ(back->vector_registers, t.vector_registers);
    EXPECT_EQ(back->masked_vectors, t.masked_vectors);
  }
}

TEST(WireTargetTest, RefusesWhatIsWrong) {
  auto refused = [](auto edit) {
    proto::Target m = ToProto(*ParseTarget("x86-64-v3"));
    edit(m);
    return FromProto(m).status().code() == Code::kInvalidArgument;
  };
  using T = proto::Target;
  EXPECT_FALSE(refused([](T&) {}));
  EXPECT_TRUE(refused([](T& m) { m.clear_architecture(); }));
  EXPECT_TRUE(refused([](T& m) { m.set_cpu("a b"); }));
  EXPECT_TRUE(refused([](T& m) { m.set_cpu("x cores=9"); }));
  EXPECT_TRUE(refused([](T& m) { m.set_name(""); }));
  EXPECT_TRUE(refused([](T& m) { m.add_features("avx9"); }));
  EXPECT_TRUE(refused([](T& m) { m.add_features("avx2,fma"); }));
  EXPECT_TRUE(refused([](T& m) {
    for (int i = 0; i < 1000; ++i) m.add_features("avx2");
  }));
  EXPECT_TRUE(refused([](T& m) { m.set_vector_bits(512); }));
  EXPECT_TRUE(refused([](T& m) { m.set_vector_bits(7); }));
  EXPECT_TRUE(refused([](T& m) { m.set_vector_registers(1000); }));
  EXPECT_TRUE(refused([](T& m) { m.set_masked_vectors(true); }));
  EXPECT_TRUE(refused([](T& m) { m.set_l1_bytes(-1); }));
  EXPECT_TRUE(refused([](T& m) { m.set_line_bytes(1 << 30); }));
  EXPECT_TRUE(refused([](T& m) { m.set_cores(0); }));
  EXPECT_TRUE(refused([](T& m) { m.set_rates("1,2,3"); }));
  EXPECT_TRUE(refused([](T& m) { m.set_rates("1,1,1,1,1,1,1,1,1,1,1,1 name=x"); }));
}

// Bytes of real messages, damaged: whatever protobuf still parses must be refused or be right.
TEST(WireMutationTest, DamagedMessagesNeverCrash) {
  Rng rng(17);
  std::vector<std::string> workloads, schedules;
  for (const auto& named : testing::SmallPrograms()) {
    workloads.push_back(ToProto(named.program).SerializeAsString());
  }
  for (int i = 0; i < 20; ++i) {
    schedules.push_back(ToProto(testing::RandomSchedule(rng)).SerializeAsString());
  }
  auto damage = [&](std::string bytes) {
    for (uint64_t edits = 1 + rng.Uniform(3); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = rng.Uniform(bytes.size());
      if (rng.Chance(0.7)) {
        bytes[at] = static_cast<char>(rng.Chance(0.5) ? rng.Next() : rng.Uniform(40));
      } else {
        bytes.erase(at, 1 + rng.Uniform(4));
      }
    }
    return bytes;
  };
  int accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    proto::Workload workload;
    if (workload.ParseFromString(damage(workloads[rng.Uniform(workloads.size())]))) {
      Result<te::Program> p = FromProto(workload);
      if (p.ok()) {
        ++accepted;
        ASSERT_TRUE(te::Verify(*p).ok());
        ASSERT_EQ(te::WorkloadHash(*FromProto(ToProto(*p))), te::WorkloadHash(*p));
      }
    }
    proto::Schedule schedule;
    if (schedule.ParseFromString(damage(schedules[rng.Uniform(schedules.size())]))) {
      Result<schedule::Schedule> s = FromProto(schedule);
      if (s.ok()) {
        ASSERT_TRUE(*FromProto(ToProto(*s)) == *s);
      }
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace temper::wire
