#include "compiler/lower/lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/rng.h"
#include "compiler/schedule/legality.h"
#include "compiler/schedule/steps.h"
#include "compiler/te/alternatives.h"
#include "compiler/tir/interpreter.h"
#include "compiler/tir/printer.h"
#include "compiler/tir/verify.h"
#include "deploy/runtime/kernel_transform.h"
#include "tests/support/small_programs.h"

namespace temper::lower {
namespace {

using schedule::Bind;
using schedule::Edge;
using schedule::PlaceKind;
using schedule::Schedule;
using schedule::StageSchedule;
using schedule::StepKind;

Target Avx512() {
  Target t;
  t.vector_bits = 512;
  t.vector_registers = 32;
  t.masked_vectors = true;
  return t;
}

// Values that depend on the logical element alone: a halo holds zeros.
std::vector<float> Fill(const tir::Buffer& b, int seed) {
  std::vector<float> data(b.ElementCount(), 0.0f);
  std::vector<int64_t> strides = b.Strides();
  int64_t count = 1;
  for (int64_t e : b.shape) count *= e;
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, at = b.Offset();
    for (size_t d = b.shape.size(); d-- > 0;) {
      at += rest % b.shape[d] * strides[d];
      rest /= b.shape[d];
    }
    data[at] = static_cast<float>((n * 37 + seed * 11) % 23 - 11) / 8.0f;
  }
  return data;
}

std::vector<float> Pack(const std::vector<float>& source, const std::vector<int64_t>& shape,
                        const std::vector<schedule::PackDim>& dims) {
  int64_t count = 1;
  for (const auto& d : dims) count *= d.extent;
  std::vector<float> packed(count, 0.0f);
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int64_t> at(shape.size(), 0);
    int64_t rest = n;
    for (size_t d = dims.size(); d-- > 0;) {
      at[dims[d].axis] += rest % dims[d].extent * dims[d].step;
      rest /= dims[d].extent;
    }
    int64_t flat = 0;
    bool inside = true;
    for (size_t a = 0; a < shape.size(); ++a) {
      inside &= at[a] < shape[a];
      flat = flat * shape[a] + at[a];
    }
    if (inside) packed[n] = source[flat];
  }
  return packed;
}

// Runs one form of a lowered program; returns its outputs, whole buffers.
Result<std::vector<float>> RunForm(const te::Program& p, const Lowered& l, const tir::Function& f) {
  TEMPER_RETURN_IF_ERROR(tir::Verify(f));
  std::vector<std::vector<float>> data;
  for (const Argument& a : l.arguments) {
    const te::Tensor& t = p.tensors[a.source];
    tir::Buffer b;
    b.shape = t.shape;
    b.halo_before = t.halo_before;
    b.halo_after = t.halo_after;
    if (a.output) {
      data.emplace_back(b.ElementCount(), 99.0f);
    } else {
      data.push_back(Fill(b, a.source));
      std::vector<int64_t> shape = t.shape;
      if (a.transform.rows > 0) {
        int64_t r = a.transform.rows;
        std::vector<float> u(r * r * shape[0] * shape[1]);
        temper_kernel_transform(a.transform.rows, a.transform.matrix.data(), shape[0], shape[1],
                                data.back().data(), u.data());
        data.back() = u;
        shape = {r, r, shape[0], shape[1]};
      }
      if (!a.pack.empty()) data.back() = Pack(data.back(), shape, a.pack);
    }
  }
  std::vector<void*> args;
  for (auto& d : data) args.push_back(d.data());
  TEMPER_RETURN_IF_ERROR(tir::Interpret(f, args));
  return data.back();
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 1e-4f * (1 + std::abs(a[i]))) << "at element " << i;
  }
}

// The schedule, before and after Finish, computes what the reference schedule does.
void ExpectRight(const te::Program& p, const Schedule& s, const Target& target = Avx512()) {
  ASSERT_TRUE(te::Verify(p).ok()) << te::Verify(p).ToString();
  Result<Lowered> reference = LowerToLoops(p, ReferenceSchedule(p, target), target);
  ASSERT_TRUE(reference.ok()) << reference.status().ToString();
  Result<std::vector<float>> expected = RunForm(p, *reference, reference->function);
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  Result<Lowered> lowered = LowerToLoops(p, s, target);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  Result<std::vector<float>> loops = RunForm(p, *lowered, lowered->function);
  ASSERT_TRUE(loops.ok()) << loops.status().ToString() << tir::ToText(lowered->function);
  ExpectClose(*expected, *loops);
  Result<tir::Function> finished = Finish(lowered->function, target);
  ASSERT_TRUE(finished.ok()) << finished.status().ToString();
  Result<std::vector<float>> code = RunForm(p, *lowered, *finished);
  ASSERT_TRUE(code.ok()) << code.status().ToString() << tir::ToText(*finished);
  ExpectClose(*expected, *code);
}

StageSchedule ConstantPack() {
  StageSchedule s;
  s.place.kind = PlaceKind::kConstant;
  s.scope = tir::Scope::kParam;
  return s;
}

// Tile rows by `rows` and columns by vectors of 16, the weight packed in panels.
Schedule PackedMatmul(int64_t n, int64_t k, int64_t rows, int64_t vectors, Edge row_edge) {
  int64_t panel = vectors * 16;
  Schedule s;
  s.steps = {{StepKind::kPack, 1, {{1, (n + panel - 1) / panel, panel}, {0, k, 1}, {1, panel, 1}}}};
  StageSchedule acc;
  acc.groups = {{{0}, {}}, {{1}, {vectors, 16}}, {{2}, {}}};
  acc.order = {{1, 0}, {2, 0}, {0, 0, Bind::kUnroll}, {1, 1, Bind::kUnroll}, {1, 2, Bind::kVector}};
  acc.place = {PlaceKind::kAt, 2, 1};
  acc.scope = tir::Scope::kRegister;
  acc.prefetches = {{3, 1, 4}};
  StageSchedule out;
  out.groups = {{{0}, {rows}, row_edge}, {{1}, {vectors, 16}, Edge::kMask}};
  out.order = {{1, 0, Bind::kParallel},
               {0, 0, Bind::kParallel},
               {0, 1, Bind::kUnroll},
               {1, 1, Bind::kUnroll},
               {1, 2, Bind::kVector}};
  out.scope = tir::Scope::kParam;
  s.stages = {ConstantPack(), acc, out};
  return s;
}

TEST(Lower, PackedMatmulThatDivides) {
  ExpectRight(MatmulBiasRelu(12, 64, 10), PackedMatmul(64, 10, 4, 2, Edge::kDivides));
}

TEST(Lower, PackedMatmulWithTails) {
  ExpectRight(MatmulBiasRelu(13, 41, 10), PackedMatmul(41, 10, 4, 2, Edge::kClip));
}

// The prefetches in the statement.
int Prefetches(const tir::Stmt& s) {
  int n = s->kind == tir::StmtKind::kPrefetch ? 1 : 0;
  for (const tir::Stmt& child : s->children) n += Prefetches(child);
  return n;
}

TEST(Lower, PrefetchesTheLinesOfUnrolledSteps) {
  Schedule s = PackedMatmul(64, 10, 4, 2, Edge::kDivides);
  const te::Program p = MatmulBiasRelu(12, 64, 10);
  s.stages[1].prefetches[0].tensor = static_cast<int>(p.tensors.size());  // the packed weight
  Result<Lowered> lowered = LowerToLoops(p, s, Avx512());
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  EXPECT_EQ(Prefetches(lowered->function.body), 2);  // a step's two vectors
  s.stages[1].groups[2].factors = {2};
  s.stages[1].order.insert(s.stages[1].order.begin() + 2, {2, 1, Bind::kUnroll});
  lowered = LowerToLoops(p, s, Avx512());
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  EXPECT_EQ(Prefetches(lowered->function.body), 4);
  ExpectRight(p, s);
}

// Whether a store or load in the statement has a predicate.
bool Masked(const tir::Stmt& s) {
  bool masked = static_cast<bool>(s->predicate);
  if (s->value) {
    tir::Visit(s->value, [&](const tir::Expr& e) {
      masked |= e->kind() == tir::ExprKind::kLoad && e->has_predicate();
      return true;
    });
  }
  return masked || std::any_of(s->children.begin(), s->children.end(), Masked);
}

// The branches between the tiles and the last one, which has code of its own.
void FindTails(const tir::Stmt& s, std::vector<tir::Stmt>* tails) {
  if (s->kind == tir::StmtKind::kIf && s->children.size() == 2) tails->push_back(s);
  for (const tir::Stmt& child : s->children) FindTails(child, tails);
}

TEST(Lower, WhereMasksAreDearOnlyTheLastTileHasThem) {
  const te::Program p = MatmulBiasRelu(13, 41, 10);
  Schedule s = PackedMatmul(41, 10, 4, 1, Edge::kClip);  // three tiles of 16 columns
  Target target = Avx512();
  ExpectRight(p, s, target);
  auto lowered = LowerToLoops(p, s, target);
  ASSERT_TRUE(lowered.ok());
  std::vector<tir::Stmt> tails;
  FindTails(Finish(lowered->function, target)->body, &tails);
  EXPECT_TRUE(tails.empty());
  target.masked_vectors = false;
  ExpectRight(p, s, target);
  FindTails(Finish(lowered->function, target)->body, &tails);
  ASSERT_EQ(tails.size(), 1u);
  EXPECT_FALSE(Masked(tails[0]->children[0]));
  EXPECT_TRUE(Masked(tails[0]->children[1]));
}

TEST(Lower, TheLastTileDoesNotComputeVectorsThatLiePastItsEnd) {
  const te::Program p = MatmulBiasRelu(13, 37, 10);
  Schedule s = PackedMatmul(37, 10, 4, 2, Edge::kClip);  // of two tiles of 32, the last has 5
  ExpectRight(p, s);
  auto lowered = LowerToLoops(p, s, Avx512());
  ASSERT_TRUE(lowered.ok());
  std::vector<tir::Stmt> tails;
  FindTails(Finish(lowered->function, Avx512())->body, &tails);
  ASSERT_EQ(tails.size(), 1u);
  const int out = lowered->function.params.back();
  std::function<int(const tir::Stmt&)> stores = [&](const tir::Stmt& t) {
    int n = t->kind == tir::StmtKind::kStore && t->buffer == out ? 1 : 0;
    for (const tir::Stmt& child : t->children) n += stores(child);
    return n;
  };
  EXPECT_EQ(stores(tails[0]->children[0]), 2 * stores(tails[0]->children[1]));
}

// What lies past the end of a tile in registers is computed from zeros, without masks.
TEST(Lower, SumsInRegistersAreNotMasked) {
  const te::Program p = MatmulBiasRelu(13, 27, 10);
  Schedule s = PackedMatmul(27, 10, 4, 2, Edge::kClip);  // one tile of 32 columns
  ExpectRight(p, s);
  auto lowered = LowerToLoops(p, s, Avx512());
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  auto finished = Finish(lowered->function, Avx512());
  ASSERT_TRUE(finished.ok());
  int sums = 0;
  std::function<void(const tir::Stmt&)> walk = [&](const tir::Stmt& t) {
    if (t->kind == tir::StmtKind::kStore &&
        finished->buffers[t->buffer].scope == tir::Scope::kRegister) {
      ++sums;
      EXPECT_FALSE(Masked(t));
    }
    for (const tir::Stmt& child : t->children) walk(child);
  };
  walk(finished->body);
  EXPECT_GT(sums, 0);
}

TEST(Lower, WorkspaceHoldsOnlyWhatIsStored) {
  te::Program p = MatmulBiasRelu(13, 41, 10);
  Result<Lowered> l = LowerToLoops(p, PackedMatmul(41, 10, 4, 2, Edge::kClip), Avx512());
  ASSERT_TRUE(l.ok());
  EXPECT_EQ(l->function.workspace_bytes, 0);
  EXPECT_EQ(l->arguments.size(), 4u);
  EXPECT_EQ(l->arguments[1].pack.size(), 3u);
}

TEST(Lower, FactorsThatDoNotDivideAreRefused) {
  te::Program p = MatmulBiasRelu(13, 41, 10);
  Result<Lowered> l = LowerToLoops(p, PackedMatmul(41, 10, 4, 2, Edge::kDivides), Avx512());
  EXPECT_EQ(l.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(l.status().message().find("does not divide"), std::string::npos)
      << l.status().ToString();
}

TEST(Lower, ConvolutionReadsAndWritesHalos) {
  te::Program p = ConvWithHalo(7, 3, 20);
  Schedule s;
  s.steps = {{StepKind::kPack, 1, {{0, 2, 16}, {2, 3, 1}, {3, 3, 1}, {1, 3, 1}, {0, 16, 1}}}};
  StageSchedule acc;
  acc.groups = {{{0}, {}}, {{1}, {}}, {{2}, {16}}, {{3}, {}}, {{4}, {}}, {{5}, {}}};
  acc.order = {
      {0, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {1, 0, Bind::kUnroll}, {2, 1, Bind::kVector}};
  acc.place = {PlaceKind::kAt, 2, 2};
  acc.scope = tir::Scope::kRegister;
  StageSchedule out;
  out.groups = {{{0}, {}}, {{1}, {3}, Edge::kClip}, {{2}, {16}, Edge::kMask}};
  out.order = {{2, 0}, {0, 0}, {1, 0}, {1, 1, Bind::kUnroll}, {2, 1, Bind::kVector}};
  out.scope = tir::Scope::kParam;
  s.stages = {ConstantPack(), acc, out};
  ExpectRight(p, s);
}

TEST(Lower, WriteCacheGivesALoneReductionAConsumer) {
  te::Program p = ConvWithPadStage(6, 4, 16);
  for (bool inlined : {false, true}) {
    Schedule s;
    s.steps = {{StepKind::kWriteCache, 1, {}}};
    StageSchedule pad;
    if (inlined) {
      pad.place.kind = PlaceKind::kInline;
    } else {
      pad.groups = {{{0, 1}, {4}, Edge::kClip}, {{2}, {}}};
      pad.order = {{0, 0}, {0, 1, Bind::kUnroll}, {1, 0}};
    }
    StageSchedule acc;
    acc.groups = {{{0}, {}}, {{1}, {}}, {{2}, {16}}, {{3, 4}, {}}, {{5}, {2}}};
    acc.order = {{0, 0},
                 {2, 0},
                 {3, 0},
                 {4, 0},
                 {4, 1, Bind::kUnroll},
                 {1, 0, Bind::kUnroll},
                 {2, 1, Bind::kVector}};
    acc.place = {PlaceKind::kAt, 2, 1};
    acc.scope = tir::Scope::kRegister;
    StageSchedule out;
    out.groups = {{{0}, {}}, {{1}, {4}, Edge::kClip}, {{2}, {16}}};
    out.order = {{0, 0}, {1, 0}, {2, 0}, {1, 1, Bind::kUnroll}, {2, 1, Bind::kVector}};
    out.scope = tir::Scope::kParam;
    s.stages = {pad, acc, out};
    ExpectRight(p, s);
  }
}

TEST(Lower, SoftmaxRowByRow) {
  te::Program p = Softmax(5, 37);
  Schedule s;
  StageSchedule row;  // max and sum of one row
  row.groups = {{{0}, {}}, {{1}, {}}};
  row.order = {{0, 0}, {1, 0}};
  row.place = {PlaceKind::kAt, 3, 0};
  row.scope = tir::Scope::kStack;
  StageSchedule exps;
  exps.groups = {{{0}, {}}, {{1}, {16}, Edge::kMask}};
  exps.order = {{0, 0}, {1, 0}, {1, 1, Bind::kVector}};
  exps.place = {PlaceKind::kAt, 3, 0};
  exps.scope = tir::Scope::kStack;
  StageSchedule out = exps;
  out.place = {};
  out.scope = tir::Scope::kParam;
  s.stages = {row, exps, row, out};
  ExpectRight(p, s);
}

// Every stage of the alternative at root, its short sums unrolled, computes the convolution.
TEST(Lower, WinogradComputesTheConvolution) {
  for (auto [h, w, halo] : {std::tuple{8, 8, 1}, {7, 10, 1}, {6, 9, 0}}) {
    te::Program p = ConvBatch(2, h, w, 3, 5, halo);
    for (int alternative : {1, 2}) {
      auto winograd = te::MakeAlternative(p, alternative);
      ASSERT_TRUE(winograd.ok());
      Schedule s = ReferenceSchedule(*winograd, Avx512());
      s.alternative = alternative;
      ExpectRight(p, s);
      if (HasFatalFailure()) FAIL() << h << "x" << w << " alternative " << alternative;
    }
  }
}

// Random loops for every stage at root: fused groups, factors, orders, binds, edges.
TEST(Lower, RandomRootSchedulesAgree) {
  Rng rng(7);
  std::vector<te::Program> programs = {MatmulBiasRelu(6, 20, 5), ConvWithHalo(4, 2, 6),
                                       ConvWithPadStage(4, 3, 5), Softmax(3, 21)};
  int tried = 0;
  for (int round = 0; round < 120; ++round) {
    const te::Program& p = programs[round % programs.size()];
    Schedule s = ReferenceSchedule(p, Avx512());
    for (size_t n = 0; n < p.stages.size(); ++n) {
      const te::Stage& stage = p.stages[n];
      StageSchedule& ss = s.stages[n];
      ss.groups.clear();
      ss.order.clear();
      for (int a = 0; a < stage.axis_count(); ++a) {
        bool reduction = stage.IsReduction(a);
        bool fuse = !ss.groups.empty() && ss.groups.back().edge != Edge::kMask &&
                    stage.IsReduction(ss.groups.back().axes[0]) == reduction && rng.Uniform(3) == 0;
        if (fuse) {
          ss.groups.back().axes.push_back(a);
          continue;
        }
        schedule::Group g{{a}, {}, Edge::kDivides};
        if (!reduction && rng.Uniform(2) == 0) g.edge = Edge::kMask;
        ss.groups.push_back(g);
      }
      for (schedule::Group& g : ss.groups) {
        bool reduction = stage.IsReduction(g.axes[0]);
        int64_t extent = 1;
        for (int a : g.axes) extent *= stage.axis(a).extent;
        if (!reduction && g.edge != Edge::kMask) g.edge = Edge::kClip;
        int64_t f = 1 + static_cast<int64_t>(rng.Uniform(4));
        if (reduction) {
          if (extent % f == 0) g.factors = {f};
        } else if (f * 2 <= extent) {
          g.factors = {f, 2};
        }
      }
      std::vector<std::pair<int, int>> loops;
      for (size_t g = 0; g < ss.groups.size(); ++g) {
        for (size_t l = 0; l <= ss.groups[g].factors.size(); ++l) loops.push_back({g, l});
      }
      // A random merge of the groups' loops.
      std::map<int, int> next;
      while (!loops.empty()) {
        size_t pick = rng.Uniform(loops.size());
        int g = loops[pick].first;
        int level = next[g]++;
        bool last = loops.size() == 1;
        bool vector = last && level == 2 && !stage.IsReduction(ss.groups[g].axes[0]);
        Bind bind = vector ? Bind::kVector : (rng.Uniform(3) == 0 ? Bind::kUnroll : Bind::kSerial);
        ss.order.push_back({g, level, bind});
        for (size_t i = 0; i < loops.size(); ++i) {
          if (loops[i].first == g) {
            loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
            break;
          }
        }
      }
    }
    if (!schedule::CheckLegal(p, s, Avx512()).ok()) continue;
    ++tried;
    ExpectRight(p, s);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(tried, 60);
}

}  // namespace
}  // namespace temper::lower
