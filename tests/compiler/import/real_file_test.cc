// Files that other programs wrote.
#include <gtest/gtest.h>

#include "compiler/graph/pipeline.h"
#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

TEST(RealFileTest, SmallModelOfTheOnnxPackage) {
  ImportOptions options;
  options.shapes["x"] = {2, 3, 8, 8};
  auto model = ImportFile("tests/data/small.onnx", options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = graph::RunPipeline(*model);
  ASSERT_TRUE(status.ok()) << status.message();
  // The Cast is folded; Where and Mul stay.
  EXPECT_EQ(Ops(*model), "Conv Clip Where Mul Reshape");
  EXPECT_EQ(model->name, "small");
  EXPECT_EQ(model->type(model->outputs()[0]).ToString(), "float32[2,64]");
  EXPECT_EQ(model->output_names()[0], "y");
  const graph::Node& conv = model->node(model->order()[0]);
  EXPECT_EQ(conv.Describe(), "Conv 'conv' + 'bn'");
  EXPECT_EQ(model->ConstantInput(conv, 2)->AsDoubles(), (std::vector<double>{1, 1, 1, 1}));
  const graph::Node& where = model->node(model->order()[2]);
  EXPECT_EQ(model->ConstantInput(where, 2)->AsDoubles(), (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace temper::importer
