#include "compiler/te/interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/rng.h"
#include "tests/support/programs.h"

namespace temper::te {
namespace {

using tir::Expr;

std::vector<float> Random(int64_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out) v = static_cast<float>(rng.Normal());
  return out;
}

TEST(InterpretTest, MatmulInNativePrecisionEqualsDirectLoops) {
  constexpr int kM = 5, kN = 6, kK = 33;
  const Program p = testing::MatmulBiasRelu(kM, kN, kK);
  const auto x = Random(kM * kK, 1), w = Random(kK * kN, 2), bias = Random(kN, 3);
  std::vector<float> native(kM * kN), exact(kM * kN);
  const void* inputs[] = {x.data(), w.data(), bias.data()};
  void* outputs[] = {native.data()};
  ASSERT_TRUE(EvaluateProgram(p, inputs, outputs, {.precision = Precision::kNative}).ok());
  outputs[0] = exact.data();
  ASSERT_TRUE(EvaluateProgram(p, inputs, outputs).ok());
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      double wide = 0;
      for (int k = 0; k < kK; ++k) {
        sum = sum + x[i * kK + k] * w[k * kN + j];
        wide += static_cast<double>(x[i * kK + k]) * w[k * kN + j];
      }
      EXPECT_EQ(native[i * kN + j], std::max(sum + bias[j], 0.0f));
      EXPECT_EQ(exact[i * kN + j], static_cast<float>(std::max(wide + bias[j], 0.0)));
    }
  }
}

// The convolution, as loops over a plain image.
TEST(InterpretTest, PaddingByHaloAndBySelectAgreeWithDirectLoops) {
  const testing::ConvSize size{.height = 5, .width = 6, .in = 3, .out = 4, .stride = 2};
  const int64_t h = size.height, w = size.width, ci = size.in, co = size.out;
  const int64_t oh = (h - 1) / 2 + 1, ow = (w - 1) / 2 + 1;
  const auto x = Random(h * w * ci, 1), k = Random(9 * ci * co, 2), bias = Random(co, 3);
  std::vector<float> padded((h + 2) * (w + 2) * ci), want(oh * ow * co);
  for (int64_t y = 0; y < h; ++y) {
    std::copy_n(&x[y * w * ci], w * ci, &padded[((y + 1) * (w + 2) + 1) * ci]);
  }
  for (int64_t y = 0; y < oh; ++y) {
    for (int64_t o = 0; o < ow; ++o) {
      for (int64_t c = 0; c < co; ++c) {
        double sum = 0;
        for (int64_t ky = 0; ky < 3; ++ky) {
          for (int64_t kx = 0; kx < 3; ++kx) {
            for (int64_t i = 0; i < ci; ++i) {
              const int64_t at = ((y * 2 + ky) * (w + 2) + o * 2 + kx) * ci + i;
              sum += static_cast<double>(padded[at]) * k[((ky * 3 + kx) * ci + i) * co + c];
            }
          }
        }
        want[(y * ow + o) * co + c] = static_cast<float>(std::max(sum + bias[c], 0.0));
      }
    }
  }
  std::vector<float> got(want.size());
  void* outputs[] = {got.data()};
  const void* with_halo[] = {padded.data(), k.data(), bias.data()};
  ASSERT_TRUE(EvaluateProgram(testing::Conv(size), with_halo, outputs).ok());
  EXPECT_EQ(got, want);
  std::fill(got.begin(), got.end(), 0.0f);
  const void* plain[] = {x.data(), k.data(), bias.data()};
  Status status = EvaluateProgram(testing::PaddedConv(size), plain, outputs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(got, want);
}

TEST(InterpretTest, SoftmaxSumsToOne) {
  const Program p = testing::Softmax(3, 50);
  const auto x = Random(150, 1);
  const void* inputs[] = {x.data()};
  auto evaluator = Evaluator::Make(p, inputs);
  ASSERT_TRUE(evaluator.ok());
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < 50; ++j) {
      const int64_t index[] = {row, j};
      sum += *evaluator->Element(p.outputs[0], index);
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
  }
}

TEST(InterpretTest, OneElementEqualsTheWhole) {
  for (const auto& [name, p] : testing::SmallPrograms()) {
    std::vector<std::vector<float>> buffers;
    std::vector<const void*> inputs;
    for (int id : p.inputs) {
      const Tensor& t = p.tensors[id];
      int64_t count = 1;
      for (size_t d = 0; d < t.shape.size(); ++d) {
        count *= t.shape[d] + (t.halo_before.empty() ? 0 : t.halo_before[d] + t.halo_after[d]);
      }
      // Bytes enough for every type of these programs; int8 takes the floats' bytes as they are.
      buffers.push_back(Random(count, static_cast<uint64_t>(id) + 1));
    }
    for (const auto& b : buffers) inputs.push_back(b.data());
    const Tensor& out = p.tensors[p.outputs[0]];
    int64_t count = 1;
    for (int64_t extent : out.shape) count *= extent;
    std::vector<float> whole(static_cast<size_t>(count));
    void* outputs[] = {whole.data()};
    Status status = EvaluateProgram(p, inputs, outputs);
    ASSERT_TRUE(status.ok()) << name << ": " << status.ToString();
    std::vector<int64_t> last;
    for (int64_t extent : out.shape) last.push_back(extent - 1);
    auto element = EvaluateElement(p, inputs, p.outputs[0], last);
    ASSERT_TRUE(element.ok()) << name;
    if (out.dtype == DType::kFloat32) {
      EXPECT_EQ(static_cast<float>(*element), whole.back()) << name;
    } else {
      int32_t value;
      std::memcpy(&value, &whole.back(), 4);
      EXPECT_EQ(*element, value) << name;
    }
  }
}

TEST(InterpretTest, OutputsGetZerosInTheirHalo) {
  Program p = testing::MatmulBiasRelu(2, 3, 4);
  Tensor& out = p.tensors[p.outputs[0]];
  out.halo_before = {1, 0};
  out.halo_after = {0, 2};
  const auto x = Random(8, 1), w = Random(12, 2);
  const std::vector<float> bias = {100, 100, 100};
  std::vector<float> got(3 * 5, -1);
  const void* inputs[] = {x.data(), w.data(), bias.data()};
  void* outputs[] = {got.data()};
  ASSERT_TRUE(EvaluateProgram(p, inputs, outputs).ok());
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_EQ(got[i * 5 + j] > 0, i >= 1 && j < 3) << i << " " << j;
  }
}

// y[i] = body of x[i], over four elements.
Program Map(const std::function<Expr(Expr x, Expr i)>& body, DType dtype = DType::kFloat32) {
  Program p;
  const int x = p.AddInput("x", dtype, {4});
  Stage s;
  s.name = "map";
  s.spatial.push_back({p.NewVar("i"), 4});
  Expr at[] = {s.spatial[0].var};
  s.body = body(p.Read(x, at), at[0]);
  p.outputs = {p.AddStage(std::move(s))};
  return p;
}

TEST(InterpretTest, NativePrecisionRoundsEveryOperation) {
  const Program p = Map([](Expr x, Expr) {
    return (x + tir::FloatImm(DType::kFloat32, 1e8)) - tir::FloatImm(DType::kFloat32, 1e8);
  });
  const std::vector<float> x = {1, 2, 3, 4};
  const void* inputs[] = {x.data()};
  const int64_t index[] = {0};
  EXPECT_EQ(*EvaluateElement(p, inputs, p.outputs[0], index), 1.0);
  EXPECT_EQ(*EvaluateElement(p, inputs, p.outputs[0], index, {.precision = Precision::kNative}),
            0.0);
}

TEST(InterpretTest, IntegersAreExact) {
  const Program p = Map(
      [](Expr x, Expr) {
        Expr big = x * tir::IntImm({DType::kInt32, 1}, 1 << 30);
        return tir::FloorDiv(big, tir::IntImm({DType::kInt32, 1}, 3)) +
               tir::FloorMod(x, tir::IntImm({DType::kInt32, 1}, 4));
      },
      DType::kInt32);
  const std::vector<int32_t> x = {1, 2, -3, 7};
  std::vector<int32_t> got(4);
  const void* inputs[] = {x.data()};
  void* outputs[] = {got.data()};
  ASSERT_TRUE(EvaluateProgram(p, inputs, outputs).ok());
  auto want = [](int32_t v) {
    const auto big = static_cast<int32_t>(static_cast<uint32_t>(v) << 30);
    const auto quotient = static_cast<int32_t>(std::floor(big / 3.0));
    return quotient + ((v % 4) + 4) % 4;
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], want(x[i]));
}

TEST(InterpretTest, FaultsAreErrors) {
  const std::vector<float> x = {1, 2, 3, 4};
  const void* inputs[] = {x.data()};
  const int64_t last[] = {3};
  Program shifted = Map([](Expr x, Expr) { return x; });
  Expr at[] = {shifted.stages[0].spatial[0].var + 1};
  shifted.stages[0].body = shifted.Read(0, at);
  auto out_of_range = EvaluateElement(shifted, inputs, 1, last);
  EXPECT_EQ(out_of_range.status().code(), Code::kOutOfRange);
  EXPECT_EQ(out_of_range.status().message(), "stage map reads x with index 0 = 4, outside [0, 4)");
  const Program p =
      Map([](Expr x, Expr i) { return x + tir::Cast(DType::kFloat32, tir::FloorDiv(4, i - 3)); });
  EXPECT_EQ(EvaluateElement(p, inputs, 1, last).status().code(), Code::kInvalidArgument);
  const int64_t outside[] = {4};
  EXPECT_EQ(EvaluateElement(p, inputs, 1, outside).status().code(), Code::kOutOfRange);
  EXPECT_EQ(EvaluateElement(p, inputs, 0, last).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(EvaluateElement(p, inputs, 1, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(EvaluateElement(p, {}, 1, last).status().code(), Code::kInvalidArgument);
  const int64_t first[] = {0};
  EXPECT_EQ(EvaluateElement(p, inputs, 1, first, {.max_steps = 0}).status().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace temper::te
