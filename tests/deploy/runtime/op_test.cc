// The runtime's operators alone.
#include "deploy/runtime/op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/dtype.h"

namespace temper {
namespace {

// A call of one operator on tensors that it owns.
class Call {
 public:
  template <typename T>
  Call& Input(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    ++call_.input_count;
    Add(static_cast<int>(dtype), shape);
    buffers_.back().resize(values.size() * sizeof(T));
    std::memcpy(buffers_.back().data(), values.data(), buffers_.back().size());
    return *this;
  }
  Call& Absent(bool input) {
    if (input) ++call_.input_count;
    Add(-1, {});
    return *this;
  }
  Call& Output(DType dtype, std::vector<int64_t> shape) {
    Add(static_cast<int>(dtype), shape);
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    buffers_.back().assign(static_cast<size_t>(count * ByteSize(dtype)), 0x7b);
    return *this;
  }
  Call& Ints(std::vector<int64_t> values) {
    std::copy(values.begin(), values.end(), call_.ints);
    return *this;
  }
  Call& Floats(std::vector<double> values) {
    std::copy(values.begin(), values.end(), call_.floats);
    return *this;
  }
  Call& Open() {
    call_.open_shapes = 1;
    return *this;
  }

  int Run(temper_kernel_fn function) {
    std::vector<void*> args = {&call_};
    for (auto& buffer : buffers_) args.push_back(buffer.data());
    extents_.assign(static_cast<size_t>(call_.tensor_count - call_.input_count),
                    std::vector<int64_t>(TEMPER_MAX_DIMS, -1));
    for (auto& extents : extents_) args.push_back(extents.data());
    std::vector<double> workspace(4096);
    return function(nullptr, args.data(), workspace.data());
  }
  template <typename T>
  std::vector<T> Result(int i, size_t count) const {
    const auto& buffer = buffers_[static_cast<size_t>(call_.input_count + i)];
    std::vector<T> values(count);
    EXPECT_LE(count * sizeof(T), buffer.size());
    std::memcpy(values.data(), buffer.data(), count * sizeof(T));
    return values;
  }
  int64_t Extent(int output, int d) const { return extents_[output][d]; }

 private:
  void Add(int dtype, const std::vector<int64_t>& shape) {
    temper_op_tensor& t = call_.tensors[call_.tensor_count++];
    t.dtype = dtype;
    t.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), t.shape);
    buffers_.emplace_back();
  }

  temper_op_call call_{};
  std::vector<std::vector<unsigned char>> buffers_;
  std::vector<std::vector<int64_t>> extents_;
};

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
constexpr DType kF = DType::kFloat32;
constexpr DType kL = DType::kInt64;

TEST(RuntimeOp, TheTableHasAllFunctionsAtTheirNumbers) {
  ASSERT_GT(temper_op_count, 0);
  for (int i = 0; i < temper_op_count; ++i) EXPECT_NE(temper_op_table[i], nullptr) << i;
  EXPECT_EQ(temper_op_table[3], temper_op_top_k);
}

TEST(RuntimeOp, ElementsOfAllTypesSurviveStoringAndLoading) {
  for (int dtype = 0; dtype <= 12; ++dtype) {
    unsigned char bytes[8] = {};
    const int64_t shape[1] = {1};
    const temper_operand x = {dtype, 1, shape, bytes};
    for (double v : {0.0, 1.0, 0.0}) {
      temper_op_store(&x, 0, v);
      EXPECT_EQ(temper_op_load(&x, 0), v) << dtype;
    }
  }
  unsigned char bytes[2] = {};
  const int64_t shape[1] = {1};
  const temper_operand half = {static_cast<int>(DType::kFloat16), 1, shape, bytes};
  // Largest, smallest, ties to even, overflow.
  for (const auto& [in, out] :
       std::vector<std::pair<double, double>>{{65504, 65504},
                                              {-6e-8, -5.9604644775390625e-08},
                                              {2049, 2048},
                                              {2051, 2052},
                                              {0.1, 0.0999755859375},
                                              {65520, INFINITY}}) {
    temper_op_store(&half, 0, in);
    EXPECT_EQ(temper_op_load(&half, 0), out);
  }
}

TEST(RuntimeOp, CumSum) {
  Call call;
  call.Input<int32_t>(DType::kInt32, {2, 3}, {1, 2, 3, 4, 5, 6});
  call.Input<int32_t>(DType::kInt32, {}, {-1}).Output(DType::kInt32, {2, 3}).Ints({1, 1});
  ASSERT_EQ(call.Run(temper_op_cum_sum), 0);
  EXPECT_EQ(call.Result<int32_t>(0, 6), (std::vector<int32_t>{5, 3, 0, 11, 6, 0}));
}

TEST(RuntimeOp, ScatterChecksIndices) {
  Call call;
  call.Input<float>(kF, {3}, {1, 2, 3}).Input<int64_t>(kL, {2}, {-1, 0});
  call.Input<float>(kF, {2}, {10, 20}).Output(kF, {3}).Ints({0, 1});
  ASSERT_EQ(call.Run(temper_op_scatter_elements), 0);
  EXPECT_EQ(call.Result<float>(0, 3), (Floats{21, 2, 13}));
  Call outside;
  outside.Input<float>(kF, {3}, {1, 2, 3}).Input<int64_t>(kL, {1, 1}, {3});
  outside.Input<float>(kF, {1}, {10}).Output(kF, {3}).Ints({0});
  EXPECT_EQ(outside.Run(temper_op_scatter_nd), TEMPER_OP_BAD_INDEX);
}

TEST(RuntimeOp, TopKTakesTheFirstOfEqualsAndNanAsLargest) {
  Call call;
  call.Input<float>(kF, {5}, {1, 3, NAN, 3, 2}).Input<int64_t>(kL, {1}, {3});
  call.Output(kF, {3}).Output(kL, {3}).Ints({0, 1});
  ASSERT_EQ(call.Run(temper_op_top_k), 0);
  EXPECT_EQ(call.Result<int64_t>(1, 3), (Longs{2, 1, 3}));
  call.Ints({0, 0});
  ASSERT_EQ(call.Run(temper_op_top_k), 0);
  EXPECT_EQ(call.Result<float>(0, 3), (Floats{1, 2, 3}));
  EXPECT_EQ(call.Result<int64_t>(1, 3), (Longs{0, 4, 1}));
}

TEST(RuntimeOp, NonMaxSuppressionSaysHowManyItFound) {
  Call call;
  call.Input<float>(kF, {1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  call.Input<float>(kF, {1, 1, 3}, {0.9f, 0.75f, 0.6f}).Input<int64_t>(kL, {1}, {3});
  call.Input<float>(kF, {1}, {0.5f}).Absent(true).Output(kL, {3, 3}).Open();
  ASSERT_EQ(call.Run(temper_op_non_max_suppression), 0);
  EXPECT_EQ(call.Extent(0, 0), 2);
  EXPECT_EQ(call.Result<int64_t>(0, 6), (Longs{0, 0, 0, 0, 0, 2}));
}

TEST(RuntimeOp, NonZeroAndCompress) {
  Call call;
  call.Input<float>(kF, {2, 2}, {1, 0, 0, 2}).Output(kL, {2, 4}).Open();
  ASSERT_EQ(call.Run(temper_op_non_zero), 0);
  EXPECT_EQ(call.Extent(0, 1), 2);
  EXPECT_EQ(call.Result<int64_t>(0, 4), (Longs{0, 1, 0, 1}));
  Call rows;
  rows.Input<float>(kF, {2, 2}, {1, 2, 3, 4}).Input<uint8_t>(DType::kBool, {2}, {0, 1});
  rows.Output(kF, {2, 2}).Ints({1}).Open();
  ASSERT_EQ(rows.Run(temper_op_compress), 0);
  EXPECT_EQ(rows.Extent(0, 0), 2);
  EXPECT_EQ(rows.Extent(0, 1), 1);
  EXPECT_EQ(rows.Result<float>(0, 2), (Floats{2, 4}));
}

TEST(RuntimeOp, Unique) {
  Call call;
  call.Input<float>(kF, {6}, {2, 1, 1, 3, 4, 3}).Output(kF, {6}).Output(kL, {6});
  call.Output(kL, {6}).Output(kL, {6}).Ints({-1, 0}).Open();
  ASSERT_EQ(call.Run(temper_op_unique), 0);
  EXPECT_EQ(call.Extent(0, 0), 4);
  EXPECT_EQ(call.Result<float>(0, 4), (Floats{2, 1, 3, 4}));
  EXPECT_EQ(call.Result<int64_t>(1, 4), (Longs{0, 1, 3, 4}));
  EXPECT_EQ(call.Result<int64_t>(2, 6), (Longs{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(call.Result<int64_t>(3, 4), (Longs{1, 2, 2, 1}));
}

TEST(RuntimeOp, DeterminantsSwapRows) {
  Call call;
  call.Input<float>(kF, {2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4}).Output(kF, {2});
  ASSERT_EQ(call.Run(temper_op_det), 0);
  EXPECT_EQ(call.Result<float>(0, 2), (Floats{-6, 0}));
}

TEST(RuntimeOp, LstmStopsAtEachSequencesLength) {
  // One unit, weights of one, sequences of two and one.
  Call call;
  call.Input<float>(kF, {2, 2, 1}, {1, 1, 1, 1}).Input<float>(kF, {1, 4, 1}, {1, 1, 1, 1});
  call.Input<float>(kF, {1, 4, 1}, {1, 1, 1, 1}).Absent(true);
  call.Input<int32_t>(DType::kInt32, {2}, {2, 1});
  call.Output(kF, {2, 1, 2, 1}).Output(kF, {1, 2, 1}).Output(kF, {1, 2, 1});
  call.Ints({1, 0, 0, 0, 0, 1, 1}).Floats(std::vector<double>(17, 0));
  ASSERT_EQ(call.Run(temper_op_lstm), 0);
  const double s = 1 / (1 + std::exp(-1.0)), c1 = s * std::tanh(1.0), h1 = s * std::tanh(c1);
  const double s2 = 1 / (1 + std::exp(-1 - h1)), c2 = s2 * c1 + s2 * std::tanh(1 + h1);
  const double h2 = s2 * std::tanh(c2);
  const Floats y = call.Result<float>(0, 4), last = call.Result<float>(1, 2);
  EXPECT_NEAR(y[0], h1, 1e-6);
  EXPECT_NEAR(y[1], h1, 1e-6);
  EXPECT_NEAR(y[2], h2, 1e-6);
  EXPECT_EQ(y[3], 0);
  EXPECT_NEAR(last[0], h2, 1e-6);
  EXPECT_NEAR(last[1], h1, 1e-6);
  EXPECT_NEAR(call.Result<float>(2, 2)[0], c2, 1e-6);
}

}  // namespace
}  // namespace temper
