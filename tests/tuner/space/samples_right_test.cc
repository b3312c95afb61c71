// A hundred random schedules of each family compute what the reference schedule computes, by the
// interpreter, as loops and with vectors and unrolling carried out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/lower/lower.h"
#include "compiler/schedule/text.h"
#include "compiler/te/alternatives.h"
#include "compiler/te/canonical.h"
#include "compiler/tir/interpreter.h"
#include "tests/support/programs.h"
#include "tuner/space/space.h"

namespace temper::tuner {
namespace {

using Bytes = std::vector<uint8_t>;

double ReadElement(const Bytes& data, DType dtype, int64_t i) {
  switch (dtype) {
    case DType::kFloat32: {
      float v;
      std::memcpy(&v, &data[i * 4], 4);
      return v;
    }
    case DType::kInt32: {
      int32_t v;
      std::memcpy(&v, &data[i * 4], 4);
      return v;
    }
    default:
      return static_cast<int8_t>(data[i]);
  }
}

void WriteElement(Bytes& data, DType dtype, int64_t i, double value) {
  if (dtype == DType::kFloat32) {
    auto v = static_cast<float>(value);
    std::memcpy(&data[i * 4], &v, 4);
  } else if (dtype == DType::kInt32) {
    auto v = static_cast<int32_t>(value);
    std::memcpy(&data[i * 4], &v, 4);
  } else {
    data[i] = static_cast<uint8_t>(static_cast<int8_t>(value));
  }
}

tir::Buffer BufferOf(const te::Tensor& t) {
  tir::Buffer b;
  b.dtype = t.dtype;
  b.shape = t.shape;
  b.halo_before = t.halo_before;
  b.halo_after = t.halo_after;
  return b;
}

// Values of the logical elements, zeros in the halo.
Bytes Fill(const te::Tensor& t, int seed) {
  tir::Buffer b = BufferOf(t);
  Bytes data(b.ElementCount() * ByteSize(t.dtype), 0);
  std::vector<int64_t> strides = b.Strides();
  int64_t count = 1;
  for (int64_t e : t.shape) count *= e;
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, at = b.Offset();
    for (size_t d = t.shape.size(); d-- > 0;) {
      at += rest % t.shape[d] * strides[d];
      rest /= t.shape[d];
    }
    double value = static_cast<double>((n * 37 + seed * 11) % 23 - 11);
    WriteElement(data, t.dtype, at, IsFloat(t.dtype) ? value / 8 : value);
  }
  return data;
}

Bytes Pack(const Bytes& source, const te::Tensor& t, const std::vector<schedule::PackDim>& dims) {
  int64_t count = 1;
  for (const auto& d : dims) count *= d.extent;
  Bytes packed(count * ByteSize(t.dtype), 0);
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int64_t> at(t.shape.size(), 0);
    int64_t rest = n, flat = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      at[dims[d].axis] += rest % dims[d].extent * dims[d].step;
      rest /= dims[d].extent;
    }
    bool inside = true;
    for (size_t a = 0; a < at.size(); ++a) {
      inside &= at[a] < t.shape[a];
      flat = flat * t.shape[a] + at[a];
    }
    if (inside) WriteElement(packed, t.dtype, n, ReadElement(source, t.dtype, flat));
  }
  return packed;
}

Result<Bytes> Execute(const te::Program& p, const lower::Lowered& l, const tir::Function& f) {
  std::vector<Bytes> data;
  for (const lower::Argument& a : l.arguments) {
    const te::Tensor& t = p.tensors[a.source];
    if (a.output) {
      data.emplace_back(BufferOf(t).ElementCount() * ByteSize(t.dtype), 0x7f);
    } else {
      data.push_back(Fill(t, a.source));
      if (!a.pack.empty()) data.back() = Pack(data.back(), t, a.pack);
    }
  }
  std::vector<void*> args;
  for (Bytes& d : data) args.push_back(d.data());
  TEMPER_RETURN_IF_ERROR(tir::Interpret(f, args));
  return data.back();
}

void ExpectClose(const Bytes& expected, const Bytes& got, DType dtype, const std::string& what) {
  ASSERT_EQ(expected.size(), got.size());
  int64_t n = static_cast<int64_t>(expected.size()) / ByteSize(dtype);
  for (int64_t i = 0; i < n; ++i) {
    double e = ReadElement(expected, dtype, i), g = ReadElement(got, dtype, i);
    ASSERT_NEAR(e, g, IsFloat(dtype) ? 1e-4 * (1 + std::abs(e)) : 0) << "element " << i << what;
  }
}

class SamplesRight : public ::testing::TestWithParam<const char*> {};

TEST_P(SamplesRight, AgreeWithTheReference) {
  auto target = ParseTarget(GetParam());
  ASSERT_TRUE(target.ok());
  for (const auto& named : testing::SmallPrograms()) {
    te::Program p = te::Canonicalize(named.program);
    DType dtype = p.tensors[p.outputs[0]].dtype;
    auto reference = lower::LowerToLoops(p, lower::ReferenceSchedule(p, *target), *target);
    ASSERT_TRUE(reference.ok()) << reference.status().ToString();
    auto expected = Execute(p, *reference, reference->function);
    ASSERT_TRUE(expected.ok()) << named.name << ": " << expected.status().ToString();
    for (int threads : {1, 2}) {
      Space space = Space::Create(p, *target, threads);
      Rng rng(13);
      int legal = 0;  // of which fifty are looked at; illegal ones are normal
      for (int i = 0; i < 100 && legal < 50; ++i) {
        schedule::Schedule s = space.Emit(space.Sample(rng, 0.2));
        auto lowered = lower::LowerToLoops(p, s, *target);
        if (!lowered.ok()) continue;
        ++legal;
        std::string what = " of " + named.name + " by " + schedule::ToText(s);
        auto loops = Execute(p, *lowered, lowered->function);
        ASSERT_TRUE(loops.ok()) << loops.status().ToString() << what;
        ExpectClose(*expected, *loops, dtype, what);
        auto finished = lower::Finish(lowered->function, *target);
        ASSERT_TRUE(finished.ok()) << finished.status().ToString() << what;
        auto code = Execute(p, *lowered, *finished);
        ASSERT_TRUE(code.ok()) << code.status().ToString() << what;
        ExpectClose(*expected, *code, dtype, what);
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(legal, 50) << named.name;
    }
  }
}

// Random schedules of an alternative program compute what the workload's reference does.
void ExpectSamplesRight(const te::Program& program, te::Alternative alternative,
                        const char* target_name) {
  auto target = ParseTarget(target_name);
  ASSERT_TRUE(target.ok());
  te::Program p = te::Canonicalize(program);
  auto reference = lower::LowerToLoops(p, lower::ReferenceSchedule(p, *target), *target);
  ASSERT_TRUE(reference.ok()) << reference.status().ToString();
  auto expected = Execute(p, *reference, reference->function);
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  for (int threads : {1, 2}) {
    Space space = Space::Create(p, *target, threads, static_cast<int>(alternative));
    Rng rng(13);
    int legal = 0;
    for (int i = 0; i < 20 && legal < 8; ++i) {
      schedule::Schedule s = space.Emit(space.Sample(rng));
      ASSERT_EQ(s.alternative, static_cast<int>(alternative));
      auto again = space.Extract(s);
      ASSERT_TRUE(again.has_value());
      EXPECT_EQ(space.Emit(*again), s);
      auto lowered = lower::LowerToLoops(p, s, *target);
      if (!lowered.ok()) continue;
      ++legal;
      auto finished = lower::Finish(lowered->function, *target);
      ASSERT_TRUE(finished.ok()) << finished.status().ToString();
      auto code = Execute(p, *lowered, *finished);
      ASSERT_TRUE(code.ok()) << code.status().ToString();
      ExpectClose(*expected, *code, DType::kFloat32, " by " + schedule::ToText(s));
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(legal, 8);
  }
}

// A convolution over short rows as a product over all its pixels.
TEST(GatheredSamples, AgreeWithTheReference) {
  ExpectSamplesRight(testing::Conv({5, 5, 64, 64, 3, 2, 1}), te::Alternative::kGathered,
                     "x86-64-v3");
}

// A product with its last column apart, as one nest.
TEST(LastColumnSamples, AgreeWithTheReference) {
  for (const te::Program& p :
       {testing::BatchMatmul(2, 9, 49, 32), testing::BatchMatmul(1, 8, 17, 64)}) {
    ExpectSamplesRight(p, te::Alternative::kLastColumn, "x86-64-v4");
    const Space space = Space::Create(te::Canonicalize(p), *ParseTarget("x86-64-v4"), 1,
                                      static_cast<int>(te::Alternative::kLastColumn));
    for (const Knob& knob : space.knobs()) EXPECT_EQ(knob.nest, 0) << knob.name;
  }
}

// Few long sums as vectors of partial sums, whose weights are packed in their order, without
// padding.
TEST(LaneSumsSamples, AgreeWithTheReference) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    auto target = ParseTarget(name);
    ASSERT_TRUE(target.ok());
    te::Program p = te::Canonicalize(testing::MatmulBiasRelu(2, 10, 96));
    auto reference = lower::LowerToLoops(p, lower::ReferenceSchedule(p, *target), *target);
    ASSERT_TRUE(reference.ok()) << reference.status().ToString();
    auto expected = Execute(p, *reference, reference->function);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    Space space = Space::Create(p, *target, 1, static_cast<int>(te::Alternative::kLaneSums));
    Rng rng(13);
    int legal = 0;
    for (int i = 0; i < 40 && legal < 8; ++i) {
      schedule::Schedule s = space.Emit(space.Sample(rng));
      ASSERT_TRUE(space.Extract(s).has_value());
      const std::string what = " by " + schedule::ToText(s);
      auto pack = std::find_if(s.steps.begin(), s.steps.end(), [](const schedule::Step& step) {
        return step.kind == schedule::StepKind::kPack;
      });
      ASSERT_NE(pack, s.steps.end()) << what;
      int64_t elements = 1;
      for (const schedule::PackDim& d : pack->dims) elements *= d.extent;
      EXPECT_EQ(pack->dims.back().extent, 16) << what;
      auto lowered = lower::LowerToLoops(p, s, *target);
      if (!lowered.ok()) continue;
      ++legal;
      EXPECT_EQ(elements, 960) << what;
      auto finished = lower::Finish(lowered->function, *target);
      ASSERT_TRUE(finished.ok()) << finished.status().ToString();
      auto code = Execute(p, *lowered, *finished);
      ASSERT_TRUE(code.ok()) << code.status().ToString() << what;
      ExpectClose(*expected, *code, DType::kFloat32, what);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(legal, 8) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SamplesRight,
                         ::testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace temper::tuner
