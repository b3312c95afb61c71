// Running models: results, lent outputs, clones, step times, and tensors that do not fit.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "deploy/runtime/temper.h"
#include "tests/deploy/runtime/test_tensor.h"

namespace {

using Model = std::unique_ptr<temper_model, void (*)(temper_model*)>;

Model Open(const std::string& name, int threads = 1) {
  temper_model* model = nullptr;
  EXPECT_EQ(temper_open((TEST_MODEL_DIR + name).c_str(), threads, &model), 0) << temper_error();
  return Model(model, temper_close);
}

std::vector<float> Counting(int n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// Tensors for one run of toy_model.
struct ToyTensors {
  TestTensor x{kDLFloat, {3, 5}, Counting(15)};
  TestTensor b{kDLFloat, {5}, std::vector<float>{100, 200, 300, 400, 500}};
  TestTensor k{kDLInt, {1}, std::vector<int32_t>{3}};
  TestTensor y{kDLFloat, {3, 5}, std::vector<float>(15)};
  TestTensor n{kDLInt, {}, std::vector<int64_t>(1)};
  TestTensor picked{kDLInt, {4}, std::vector<int32_t>(4)};

  int Run(temper_model* model, double* us = nullptr) {
    const DLTensor* inputs[] = {&x.tensor, &b.tensor, &k.tensor};
    DLTensor* outputs[] = {&y.tensor, &n.tensor, &picked.tensor};
    return us ? temper_run_step_times(model, inputs, outputs, us)
              : temper_run(model, inputs, outputs);
  }
};

void ExpectY(const std::vector<float>& y, float factor) {
  ASSERT_EQ(y.size(), 15u);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(y[i], factor * i + 100 * (i % 5 + 1)) << i;
}

// Expects the run to fail with a message that has all of `parts`.
void ExpectRefused(ToyTensors& tensors, temper_model* model, std::vector<std::string> parts) {
  ASSERT_NE(tensors.Run(model), 0);
  for (const auto& part : parts) {
    EXPECT_NE(std::string(temper_error()).find(part), std::string::npos)
        << "no \"" << part << "\" in: " << temper_error();
  }
}

TEST(ModelTest, DescribesItself) {
  Model model = Open("toy_model.so");
  ASSERT_EQ(temper_input_count(model.get()), 3);
  ASSERT_EQ(temper_output_count(model.get()), 3);
  const temper_tensor_info* x = temper_input(model.get(), 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->ndim, 2);
  EXPECT_EQ(x->shape[1], 5);
  EXPECT_EQ(x->dtype.code, kDLFloat);
  EXPECT_EQ(x->dtype.bits, 32);
  EXPECT_EQ(x->dtype.lanes, 1);
  const temper_tensor_info* picked = temper_output(model.get(), 2);
  EXPECT_EQ(picked->shape[0], -1);
  EXPECT_EQ(picked->max_shape[0], 4);
  EXPECT_EQ(temper_output(model.get(), 1)->ndim, 0);
  for (int i : {-1, 3}) {
    EXPECT_EQ(temper_input(model.get(), i), nullptr);
    EXPECT_EQ(temper_output(model.get(), i), nullptr);
    EXPECT_EQ(temper_step(model.get(), i), nullptr);
  }
  EXPECT_EQ(temper_step_count(model.get()), 2);
  EXPECT_STREQ(temper_step(model.get(), 0)->nodes, "scale,shift");
  ASSERT_NE(temper_workload(model.get(), "0123"), nullptr);
  EXPECT_STREQ(temper_workload(model.get(), "0123")->name, "Toy 3x5");
  EXPECT_EQ(temper_workload(model.get(), "012"), nullptr);
  EXPECT_EQ(temper_workload(model.get(), nullptr), nullptr);
  EXPECT_STREQ(temper_target(model.get()), "x86-64-v9");
  EXPECT_STREQ(temper_producer(model.get()), "by hand");
  EXPECT_EQ(temper_threads(model.get()), 1);
  EXPECT_EQ(temper_compiled_threads(model.get()), 2);
  EXPECT_EQ(temper_arena_bytes(model.get()), 16);
  EXPECT_EQ(temper_weight_bytes(model.get()), 20);
  EXPECT_STREQ(temper_version(), TEMPER_VERSION);
}

TEST(ModelTest, RunsOnAnyNumberOfThreads) {
  for (int threads : {0, 1, 2, 3, 4}) {
    Model model = Open("toy_model.so", threads);
    ToyTensors tensors;
    for (int run = 1; run <= 3; ++run) {
      ASSERT_EQ(tensors.Run(model.get()), 0) << temper_error();
      ExpectY(tensors.y.Values<float>(), 2);
      EXPECT_EQ(tensors.n.Values<int64_t>(), std::vector<int64_t>{run});
      tensors.picked.shape[0] = 4;  // the run wrote the actual 3
    }
  }
}

TEST(ModelTest, WritesTheActualShapeOfAnOutput) {
  Model model = Open("toy_model.so");
  ToyTensors tensors;
  ASSERT_EQ(tensors.Run(model.get()), 0) << temper_error();
  EXPECT_EQ(tensors.picked.shape, std::vector<int64_t>{3});
  EXPECT_EQ(tensors.picked.Values<int32_t>(), (std::vector<int32_t>{0, 10, 20, 0}));
}

TEST(ModelTest, TakesUnalignedMemoryAndOffsets) {
  Model model = Open("toy_model.so");
  ToyTensors tensors;
  TestTensor shifted(kDLFloat, {3, 5}, Counting(17));
  std::memmove(shifted.bytes.data() + 5, shifted.bytes.data(), 15 * sizeof(float));
  tensors.x.tensor.data = shifted.bytes.data() + 1;
  tensors.x.tensor.byte_offset = 4;
  ASSERT_EQ(tensors.Run(model.get()), 0) << temper_error();
  ExpectY(tensors.y.Values<float>(), 2);
}

TEST(ModelTest, AcceptsStridesThatAreDense) {
  Model model = Open("toy_model.so");
  ToyTensors tensors;
  std::vector<int64_t> strides = {5, 1}, of_one = {77};
  tensors.x.tensor.strides = strides.data();
  tensors.k.tensor.strides = of_one.data();  // of an extent of 1: never used
  ASSERT_EQ(tensors.Run(model.get()), 0) << temper_error();
}

TEST(ModelTest, RefusesOutputsInTheMemoryOfOthers) {
  Model model = Open("toy_model.so");
  const std::vector<float> before = Counting(15);
  {
    ToyTensors tensors;
    tensors.y.tensor.data = tensors.x.bytes.data();
    ExpectRefused(tensors, model.get(), {"output y shares memory with input x", "of its own"});
    EXPECT_EQ(tensors.x.Values<float>(), before);
  }
  {
    ToyTensors tensors;  // the last byte of b is the first of y
    std::vector<uint8_t> room(20 + 60 - 1);
    tensors.b.tensor.data = room.data();
    tensors.y.tensor.data = room.data() + 19;
    ExpectRefused(tensors, model.get(), {"output y shares memory with input b"});
    room.resize(80);
    tensors.b.tensor.data = room.data();
    tensors.y.tensor.data = room.data() + 20;
    EXPECT_EQ(tensors.Run(model.get()), 0) << temper_error();
  }
  {
    ToyTensors tensors;
    tensors.n.tensor.data = tensors.y.bytes.data() + 8;
    ExpectRefused(tensors, model.get(), {"output y shares memory with output n"});
  }
  {
    ToyTensors tensors;  // inputs may share
    tensors.b.tensor.data = tensors.x.bytes.data();
    EXPECT_EQ(tensors.Run(model.get()), 0) << temper_error();
  }
  {
    ToyTensors tensors;  // what was lent is lent again
    tensors.y.tensor.data = nullptr;
    ASSERT_EQ(tensors.Run(model.get()), 0) << temper_error();
    tensors.x.tensor.data = tensors.y.tensor.data;
    tensors.y.tensor.data = nullptr;
    tensors.picked.shape[0] = 4;
    ExpectRefused(tensors, model.get(), {"output y shares memory with input x"});
  }
}

TEST(ModelTest, LendsOutputs) {
  Model model = Open("toy_model.so");
  ToyTensors tensors;
  DLTensor y = {}, picked = {};
  int64_t shape[1] = {-5};
  picked.ndim = 1;
  picked.shape = shape;
  const DLTensor* inputs[] = {&tensors.x.tensor, &tensors.b.tensor, &tensors.k.tensor};
  DLTensor* outputs[] = {&y, &tensors.n.tensor, &picked};
  ASSERT_EQ(temper_run(model.get(), inputs, outputs), 0) << temper_error();
  ASSERT_NE(y.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(y.data) % 64, 0u);
  const auto* values = static_cast<const float*>(y.data);
  ExpectY(std::vector<float>(values, values + 15), 2);
  EXPECT_EQ(y.ndim, 2);
  EXPECT_EQ(y.shape[0], 3);
  EXPECT_EQ(y.shape[1], 5);
  EXPECT_EQ(y.strides, nullptr);
  EXPECT_EQ(y.dtype.bits, 32);
  EXPECT_EQ(y.device.device_type, kDLCPU);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(static_cast<const int32_t*>(picked.data)[2], 20);

  // The same tensors, as they came back, serve the next run, but for the shape that varies.
  shape[0] = 4;
  ASSERT_EQ(temper_run(model.get(), inputs, outputs), 0) << temper_error();

  DLTensor no_room = {};
  no_room.shape = shape;
  DLTensor* refused[] = {&no_room, &tensors.n.tensor, &picked};
  EXPECT_NE(temper_run(model.get(), inputs, refused), 0);
  EXPECT_NE(std::string(temper_error()).find("room for 0 extents; it has 2"), std::string::npos)
      << temper_error();
}

TEST(ModelTest, TimesEveryStep) {
  Model model = Open("toy_model.so", 2);
  ToyTensors tensors;
  double us[2] = {-1, -1};
  ASSERT_EQ(tensors.Run(model.get(), us), 0) << temper_error();
  EXPECT_GE(us[0], 0);
  EXPECT_GE(us[1], 0);
  ExpectY(tensors.y.Values<float>(), 2);
  EXPECT_EQ(tensors.picked.shape[0], 3);
}

TEST(ModelTest, ReportsTheCodeOfAFailedStep) {
  Model model = Open("toy_model.so");
  ToyTensors tensors;
  tensors.k.bytes = {0xff, 0xff, 0xff, 0xff};
  tensors.k.tensor.data = tensors.k.bytes.data();
  ExpectRefused(tensors, model.get(), {"code 7"});
  double us[2];
  EXPECT_NE(tensors.Run(model.get(), us), 0);
  EXPECT_NE(std::string(temper_error()).find("step 1 (pick)"), std::string::npos) << temper_error();
}

TEST(ModelTest, ClonesAreIndependentAndOutliveTheirOriginal) {
  Model model = Open("toy_model.so", 2);
  ToyTensors first;
  ASSERT_EQ(first.Run(model.get()), 0);
  std::vector<Model> clones;
  for (int i = 0; i < 3; ++i) {
    temper_model* clone = nullptr;
    ASSERT_EQ(temper_clone(model.get(), &clone), 0) << temper_error();
    clones.emplace_back(clone, temper_close);
    EXPECT_EQ(temper_threads(clone), 2);
  }
  model.reset();
  std::vector<std::thread> threads;
  for (auto& clone : clones) {
    threads.emplace_back([&clone] {
      ToyTensors tensors;
      for (int run = 1; run <= 50; ++run) {
        ASSERT_EQ(tensors.Run(clone.get()), 0) << temper_error();
        ASSERT_EQ(tensors.n.Values<int64_t>()[0], run);  // an arena of its own
        tensors.picked.shape[0] = 4;
      }
      ExpectY(tensors.y.Values<float>(), 2);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(ModelTest, GivesALargeZeroedArenaToEachClone) {
  Model model = Open("large_arena.so");
  TestTensor sum(kDLInt, {1}, std::vector<int64_t>{-1});
  DLTensor* outputs[] = {&sum.tensor};
  ASSERT_EQ(temper_run(model.get(), nullptr, outputs), 0) << temper_error();
  EXPECT_EQ(sum.Values<int64_t>()[0], 0);
  ASSERT_EQ(temper_run(model.get(), nullptr, outputs), 0) << temper_error();
  EXPECT_EQ(sum.Values<int64_t>()[0], 8000000);
  temper_model* clone = nullptr;
  ASSERT_EQ(temper_clone(model.get(), &clone), 0) << temper_error();
  ASSERT_EQ(temper_run(clone, nullptr, outputs), 0) << temper_error();
  EXPECT_EQ(sum.Values<int64_t>()[0], 0);
  temper_close(clone);
}

TEST(ModelTest, RefusesTensorsThatDoNotFit) {
  Model model = Open("toy_model.so");
  {
    ToyTensors t;
    t.x.tensor.dtype.bits = 64;
    ExpectRefused(t, model.get(), {"input x", "float64", "float32"});
  }
  {
    ToyTensors t;
    t.b.tensor.dtype = {kDLInt, 32, 1};
    ExpectRefused(t, model.get(), {"input b", "int32", "float32"});
  }
  {
    ToyTensors t;
    t.y.tensor.dtype.lanes = 4;
    ExpectRefused(t, model.get(), {"output y", "float32x4"});
  }
  {
    ToyTensors t;
    t.x.tensor.ndim = 1;
    ExpectRefused(t, model.get(), {"input x", "(3)", "(3, 5)"});
  }
  {
    ToyTensors t;
    t.x.shape[1] = 6;
    ExpectRefused(t, model.get(), {"input x", "(3, 6)", "(3, 5)"});
  }
  {
    ToyTensors t;
    t.picked.shape[0] = 3;
    ExpectRefused(t, model.get(), {"output picked", "(3)", "(4)"});
  }
  {
    ToyTensors t;
    t.x.tensor.shape = nullptr;
    ExpectRefused(t, model.get(), {"input x", "NULL"});
  }
  {
    ToyTensors t;
    std::vector<int64_t> long_shape(40, 123456789);
    t.x.tensor.ndim = 40;
    t.x.tensor.shape = long_shape.data();
    ExpectRefused(t, model.get(), {"input x", "..."});
    t.x.tensor.ndim = -1;
    ExpectRefused(t, model.get(), {"input x"});
  }
  {
    ToyTensors t;
    std::vector<int64_t> strides = {1, 3};
    t.x.tensor.strides = strides.data();
    ExpectRefused(t, model.get(), {"input x", "not dense"});
  }
  {
    ToyTensors t;
    t.x.tensor.device.device_type = 2;
    ExpectRefused(t, model.get(), {"input x", "device type 2"});
  }
  {
    ToyTensors t;
    t.x.tensor.data = nullptr;
    ExpectRefused(t, model.get(), {"input x", "no data"});
  }
  ToyTensors fine;
  ASSERT_EQ(fine.Run(model.get()), 0);
  EXPECT_EQ(fine.n.Values<int64_t>()[0], 1);  // none of the refused ones ran
}

TEST(ModelTest, RefusesNullArguments) {
  Model model = Open("toy_model.so");
  ToyTensors t;
  const DLTensor* inputs[] = {&t.x.tensor, nullptr, &t.k.tensor};
  DLTensor* outputs[] = {&t.y.tensor, &t.n.tensor, nullptr};
  EXPECT_NE(temper_run(model.get(), inputs, outputs), 0);
  EXPECT_STREQ(temper_error(), "input b: the tensor is NULL.");
  inputs[1] = &t.b.tensor;
  EXPECT_NE(temper_run(model.get(), inputs, outputs), 0);
  EXPECT_STREQ(temper_error(), "output picked: the tensor is NULL.");
  EXPECT_NE(temper_run(model.get(), nullptr, outputs), 0);
  EXPECT_NE(temper_run(model.get(), inputs, nullptr), 0);
  EXPECT_NE(temper_run(nullptr, inputs, outputs), 0);
  outputs[2] = &t.picked.tensor;
  EXPECT_NE(temper_run_step_times(model.get(), inputs, outputs, nullptr), 0);
  EXPECT_NE(temper_clone(model.get(), nullptr), 0);
  temper_model* clone;
  EXPECT_NE(temper_clone(nullptr, &clone), 0);
  EXPECT_EQ(clone, nullptr);
  temper_close(nullptr);
}

}  // namespace
