#include "compiler/driver/model_constants.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace temper::driver {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

graph::Tensor TensorOf(int64_t floats) {
  auto values = std::make_shared<std::vector<float>>(floats);
  graph::Tensor tensor;
  tensor.shape = {floats};
  tensor.data = reinterpret_cast<const std::byte*>(values->data());
  tensor.holder = std::move(values);
  return tensor;
}

// A kernel that reads an input and the constants.
void AddKernel(KernelBody& body, int input, const std::vector<int>& constants) {
  ModelKernel& kernel = body.kernels.emplace_back();
  kernel.inputs = {input};
  kernel.inputs.insert(kernel.inputs.end(), constants.begin(), constants.end());
}

// As PlaceValues has it where nothing lies in anything else.
void PlaceApart(KernelBody& body, int values) {
  for (int i = 0; i < values; ++i) body.storage.push_back({i, 0});
}

TEST(ModelConstants, CountsEachConstantThatIsReadOnceAndTheLargestSpecialization) {
  ModelKernels model;
  const graph::Tensor shared = TensorOf(1000);
  for (int64_t own : {10, 300}) {
    Specialization& s = model.specializations.emplace_back();
    const int x = s.graph.AddInput("x", graph::TensorType(DType::kFloat32, {4}));
    const int a = s.graph.AddConstant("a", shared), b = s.graph.AddConstant("b", TensorOf(own));
    s.graph.AddConstant("unread", TensorOf(5000));
    PlaceApart(s, 4);
    AddKernel(s, x, {a, b});
    AddKernel(s, x, {a});
    // A branch that reads the shared one again and one of its own.
    ModelKernel& control = s.kernels.emplace_back();
    KernelBody& nested = control.bodies.emplace_back();
    const int y = nested.graph.AddInput("y", graph::TensorType(DType::kFloat32, {4}));
    const int c = nested.graph.AddConstant("c", shared);
    const int d = nested.graph.AddConstant("d", TensorOf(7));
    PlaceApart(nested, 3);
    AddKernel(nested, y, {c, d});
  }
  EXPECT_EQ(ConstantBytes(model), 4 * (1000 + 300 + 7));
}

TEST(ModelConstants, AreWarmWhereTheLastLevelHoldsThemAndMore) {
  Target target;
  target.l2_bytes = kMegabyte;
  target.l3_bytes = 32 * kMegabyte;
  EXPECT_EQ(PlaceOfConstants(0, target), Constants::kWarm);
  EXPECT_EQ(PlaceOfConstants(16 * kMegabyte, target), Constants::kWarm);
  EXPECT_EQ(PlaceOfConstants(16 * kMegabyte + 1, target), Constants::kCold);
  EXPECT_EQ(PlaceOfConstants(100 * kMegabyte, target), Constants::kCold);
  target.l3_bytes = 0;  // the second level is the last
  EXPECT_EQ(PlaceOfConstants(kMegabyte / 2, target), Constants::kWarm);
  EXPECT_EQ(PlaceOfConstants(kMegabyte, target), Constants::kCold);
}

}  // namespace
}  // namespace temper::driver
