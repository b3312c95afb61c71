// Models of several shapes, and inputs with defaults: what is chosen, and what is said where
// nothing fits.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "deploy/runtime/temper.h"
#include "tests/deploy/runtime/test_tensor.h"

namespace {

using Model = std::unique_ptr<temper_model, void (*)(temper_model*)>;

Model OpenSeveral() {
  temper_model* model = nullptr;
  EXPECT_EQ(temper_open(TEST_MODEL_DIR "several.so", 1, &model), 0) << temper_error();
  return Model(model, temper_close);
}

std::vector<int64_t> ShapeOf(const temper_tensor_info* info) {
  return {info->shape, info->shape + info->ndim};
}

std::vector<int64_t> MaxShapeOf(const temper_tensor_info* info) {
  return {info->max_shape, info->max_shape + info->ndim};
}

// Tensors for a run with `rows` rows of x, all 2; y has the rows that `room` says.
struct Tensors {
  explicit Tensors(int64_t rows) : Tensors(rows, rows) {}
  Tensors(int64_t rows, int64_t room)
      : x(kDLFloat, {rows, 2}, std::vector<float>(rows * 2, 2)),
        y(kDLFloat, {room, 2}, std::vector<float>(room * 2, -1)) {}

  int Run(temper_model* model, bool with_s = false, double* us = nullptr) {
    const DLTensor* inputs[] = {&x.tensor};
    const DLTensor* optional[] = {with_s ? &s.tensor : nullptr};
    DLTensor* outputs[] = {&y.tensor, &tag.tensor};
    return temper_run_with(model, inputs, optional, outputs, us);
  }
  int Tag() const { return tag.Values<int32_t>()[0]; }

  TestTensor x;
  TestTensor s{kDLFloat, {1}, std::vector<float>{5}};
  TestTensor y;
  TestTensor tag{kDLInt, {}, std::vector<int32_t>{-1}};
};

TEST(SpecializationTest, DescribesAllTogetherAndEach) {
  Model model = OpenSeveral();
  ASSERT_EQ(temper_input_count(model.get()), 1);
  EXPECT_EQ(ShapeOf(temper_input(model.get(), 0)), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(MaxShapeOf(temper_input(model.get(), 0)), (std::vector<int64_t>{3, 2}));
  ASSERT_EQ(temper_optional_count(model.get()), 1);
  EXPECT_STREQ(temper_optional(model.get(), 0)->name, "s");
  EXPECT_EQ(temper_optional(model.get(), 1), nullptr);
  EXPECT_EQ(ShapeOf(temper_output(model.get(), 0)), (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(ShapeOf(temper_output(model.get(), 1)), (std::vector<int64_t>{}));

  ASSERT_EQ(temper_specialization_count(model.get()), 4);
  EXPECT_EQ(temper_specialization(model.get(), -1), nullptr);
  EXPECT_EQ(temper_specialization(model.get(), 4), nullptr);
  const temper_specialization_info* second = temper_specialization(model.get(), 1);
  EXPECT_EQ(ShapeOf(&second->inputs[0]), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(ShapeOf(&second->outputs[0]), (std::vector<int64_t>{3, 2}));
  EXPECT_STREQ(second->optional[0].name, "s");
  EXPECT_NE(second->fixed_defaults, 0);
  EXPECT_EQ(temper_specialization(model.get(), 3)->fixed_defaults, 0);
  ASSERT_EQ(second->step_count, 1);
  EXPECT_STREQ(second->steps[0].nodes, "scale\\,all,s1");
  EXPECT_EQ(temper_arena_bytes(model.get()), 192);  // the most of any
}

TEST(SpecializationTest, PicksByTheShapesOfTheInputs) {
  Model model = OpenSeveral();
  for (const int round : {0, 1}) {
    Tensors one(1), three(3);
    ASSERT_EQ(one.Run(model.get()), 0) << temper_error();
    EXPECT_EQ(one.Tag(), 0) << round;
    EXPECT_EQ(one.y.Values<float>(), std::vector<float>(2, 20));
    double us[] = {-1, -7};
    ASSERT_EQ(three.Run(model.get(), false, us), 0) << temper_error();
    EXPECT_EQ(three.Tag(), 1);
    EXPECT_EQ(three.y.Values<float>(), std::vector<float>(6, 20));
    EXPECT_GE(us[0], 0);
    EXPECT_EQ(us[1], -7);
  }
}

TEST(SpecializationTest, AnOptionalInputReplacesItsDefaultForOneRun) {
  Model model = OpenSeveral();
  Tensors t(3);
  ASSERT_EQ(t.Run(model.get(), true), 0) << temper_error();
  EXPECT_EQ(t.Tag(), 3);
  EXPECT_EQ(t.y.Values<float>(), std::vector<float>(6, 10));
  ASSERT_EQ(t.Run(model.get()), 0) << temper_error();
  EXPECT_EQ(t.Tag(), 1);
  EXPECT_EQ(t.y.Values<float>(), std::vector<float>(6, 20));
}

TEST(SpecializationTest, ChooseSaysWhichWithoutRunning) {
  Model model = OpenSeveral();
  Tensors t(3);
  const DLTensor* inputs[] = {&t.x.tensor};
  const DLTensor* optional[] = {&t.s.tensor};
  EXPECT_EQ(temper_choose(model.get(), inputs, nullptr), 1);
  EXPECT_EQ(temper_choose(model.get(), inputs, optional), 3);
  EXPECT_EQ(temper_choose(model.get(), nullptr, nullptr), -1);
}

TEST(SpecializationTest, AnOutputMayHaveRoomForTheLargest) {
  Model model = OpenSeveral();
  Tensors t(1, 3);
  ASSERT_EQ(t.Run(model.get()), 0) << temper_error();
  EXPECT_EQ(t.y.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(t.y.Values<float>(), (std::vector<float>{20, 20, -1, -1, -1, -1}));
  Tensors small(3, 1);
  EXPECT_NE(small.Run(model.get()), 0);
  EXPECT_NE(std::string(temper_error()).find("output y"), std::string::npos) << temper_error();
}

TEST(SpecializationTest, LendsOutputsInTheShapeOfTheRun) {
  Model model = OpenSeveral();
  for (const int64_t rows : {3, 1, 3}) {
    Tensors t(rows);
    t.y.tensor.data = nullptr;
    t.y.tensor.shape = nullptr;
    ASSERT_EQ(t.Run(model.get()), 0) << temper_error();
    ASSERT_EQ(t.y.tensor.ndim, 2);
    EXPECT_EQ(t.y.tensor.shape[0], rows);
    EXPECT_EQ(static_cast<float*>(t.y.tensor.data)[rows * 2 - 1], 20);
  }
}

TEST(SpecializationTest, InputsThatFitNoneAreAnErrorThatListsAll) {
  Model model = OpenSeveral();
  Tensors t(2);
  ASSERT_NE(t.Run(model.get()), 0);
  EXPECT_STREQ(temper_error(),
               "the inputs x (2, 2) fit none of the shapes that the model was compiled for: "
               "x (1, 2); x (3, 2). Give it one of them, or compile it with a further --shape.");
  EXPECT_EQ(t.Tag(), -1);
  Tensors wrong(3);
  wrong.s.shape = {2};
  wrong.s.tensor.shape = wrong.s.shape.data();
  ASSERT_NE(wrong.Run(model.get(), true), 0);
  EXPECT_NE(std::string(temper_error()).find("input s has shape (2)"), std::string::npos)
      << temper_error();
}

TEST(SpecializationTest, OfOneModelTheyHaveEqualNames) {
  temper_model* model = nullptr;
  ASSERT_NE(temper_open(TEST_MODEL_DIR "several_unlike.so", 1, &model), 0);
  EXPECT_NE(std::string(temper_error()).find("damaged metadata"), std::string::npos);
}

TEST(SpecializationTest, ModelsOfOneShapeHaveOne) {
  temper_model* model = nullptr;
  ASSERT_EQ(temper_open(TEST_MODEL_DIR "old_model.so", 1, &model), 0) << temper_error();
  EXPECT_EQ(temper_specialization_count(model), 1);
  EXPECT_EQ(temper_optional_count(model), 0);
  EXPECT_EQ(temper_specialization(model, 0)->step_count, temper_step_count(model));
  temper_close(model);
}

}  // namespace
