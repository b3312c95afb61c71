#include "compiler/import/inputs.h"

#include "tests/compiler/import/model.h"

namespace temper::importer {
namespace {

Model Open() {
  Model model;
  model.Input("x", {-2, 3, -1, 8}).Input("mask", {-2}).Output("y").Output("m");
  model.Node("Relu", {"x"}, {"y"});
  model.Node("Neg", {"mask"}, {"m"});
  return model;
}

ImportOptions Shapes(const std::vector<std::string>& flags) {
  ImportOptions options;
  for (const std::string& flag : flags) {
    const Status status = ParseShapeFlag(flag, &options);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return options;
}

TEST(InputsTest, OpenDimensionsAreNamedWithTheFlag) {
  ExpectError(Open().Import().status(),
              "test.onnx: input 'x' float32[N,3,?,8] leaves dimension 0 ('N'), 2 open; set its "
              "sizes, such as --shape x=1x3x224x8");
  ImportOptions options;
  options.allow_open_dims = true;
  const auto graph = Open().Import(options);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->type(graph->inputs()[0]).ToString(), "float32[N,3,?,8]");
}

TEST(InputsTest, ShapesFillDimensionsAndNames) {
  const auto graph = Open().Import(Shapes({"x=2x3x5x8"}));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->type(graph->inputs()[0]).ToString(), "float32[2,3,5,8]");
  EXPECT_EQ(graph->type(graph->inputs()[1]).ToString(), "float32[2]");
}

TEST(InputsTest, WrongShapesAreRefused) {
  ExpectError(Open().Import(Shapes({"x=2x3x5"})).status(),
              "--shape x=2x3x5: it has 3 dimensions instead of 4; the model declares 'x' as "
              "float32[N,3,?,8]");
  ExpectError(Open().Import(Shapes({"x=2x4x5x8"})).status(), "dimension 1 is fixed at 3");
  ExpectError(Open().Import(Shapes({"x=2x3x5x8", "mask=3"})).status(),
              "dimension 'N' is 2 in input 'x' but 3 in input 'mask'");
  ExpectError(Open().Import(Shapes({"z=1"})).status(),
              "--shape names 'z', which is no input; the model's inputs are 'x' float32[N,3,?,8], "
              "'mask' float32[N]");
}

TEST(InputsTest, AZeroIsEmptyUnlessItIsSet) {
  Model model;
  model.Input("x", {0, 3}).Output("y").Node("Relu", {"x"}, {"y"});
  const auto empty = model.Import();
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ(empty->type(empty->outputs()[0]).ToString(), "float32[0,3]");
  const auto set = model.Import(Shapes({"x=2x3"}));
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->type(set->outputs()[0]).ToString(), "float32[2,3]");
}

TEST(InputsTest, InitializersAreConstantsUnlessNamed) {
  Model model = Open();
  model.Input("w", {-1}).Floats("w", {2}, {1, 2});
  model.Node("Abs", {"w"}, {"a"});
  model.Output("a");
  const auto constant = model.Import(Shapes({"x=2x3x5x8"}));
  ASSERT_TRUE(constant.ok()) << constant.status().message();
  EXPECT_EQ(constant->inputs().size(), 2u);
  const auto input = model.Import(Shapes({"x=2x3x5x8", "w=7"}));
  ASSERT_TRUE(input.ok()) << input.status().message();
  EXPECT_EQ(input->inputs().size(), 3u);
  EXPECT_EQ(input->type(input->outputs()[2]).ToString(), "float32[7]");
}

// x, and three initializers that are inputs too: floats w, a float scalar s, integers i.
Model WithDefaults(int ir_version) {
  Model model;
  model.proto.set_ir_version(ir_version);
  model.Input("w", {2}).Input("x", {2}).Input("i", {1}, 7).Input("s", {});
  model.Floats("s", {}, {3});
  model.IntList("i", {0});
  model.Floats("w", {2}, {1, 2});
  model.Node("Mul", {"x", "w"}, {"a"});
  model.Node("Mul", {"a", "s"}, {"b"});
  model.Node("Gather", {"b", "i"}, {"y"});
  model.Output("y");
  return model;
}

std::vector<std::string> InputNames(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (int input : graph.inputs()) names.push_back(graph.value(input).name);
  return names;
}

TEST(InputsTest, DefaultsMayBeOverriddenFromIrVersion4On) {
  using Names = std::vector<std::string>;
  const auto import = [](int version, std::optional<Names> overridable, bool as_inputs,
                         Names* defaults) {
    std::vector<InputDefault> found;
    ImportOptions options;
    options.overridable = std::move(overridable);
    options.overridable_are_inputs = as_inputs;
    options.defaults = &found;
    const auto graph = WithDefaults(version).Import(options);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    for (const InputDefault& d : found) defaults->push_back(d.name);
    return graph.ok() ? InputNames(*graph) : Names();
  };
  Names defaults;
  EXPECT_EQ(import(8, std::nullopt, false, &defaults), (Names{"x"}));
  EXPECT_EQ(defaults, (Names{"w", "s"}));  // i decides a shape, or might
  defaults.clear();
  EXPECT_EQ(import(4, std::nullopt, true, &defaults), (Names{"x", "w", "s"}));
  EXPECT_EQ(defaults, (Names{"w", "s"}));
  defaults.clear();
  EXPECT_EQ(import(3, std::nullopt, true, &defaults), (Names{"x"}));
  EXPECT_EQ(defaults, (Names{}));
  EXPECT_EQ(import(3, Names{"i", "s"}, true, &defaults), (Names{"x", "i", "s"}));
  EXPECT_EQ(defaults, (Names{"i", "s"}));
  defaults.clear();
  EXPECT_EQ(import(8, Names{}, true, &defaults), (Names{"x"}));
  EXPECT_EQ(defaults, (Names{}));
}

TEST(InputsTest, OnlyInitializersThatAreInputsMayBeNamedAsOverridable) {
  for (const char* name : {"x", "y", "nothing"}) {
    ImportOptions options;
    options.overridable = {{name}};
    ExpectError(WithDefaults(8).Import(options).status(),
                "which is not both an initializer and an input");
  }
  Model twice = WithDefaults(8);
  twice.Input("w", {2});
  ExpectError(twice.Import().status(), "input 'w' is there twice");
}

TEST(InputsTest, FlagsThatAreNotShapes) {
  ImportOptions options;
  for (const char* flag :
       {"x", "=1", "x=1x", "x=x1", "x=1xx2", "x=-1", "x=1,2", "x=1x 2", "x=99999999999999999999"}) {
    ExpectError(ParseShapeFlag(flag, &options), "expected NAME=SIZES");
  }
  ExpectError(ParseShapeFlag("x=1x3x0x8", &options), "x=1x3x0x8: extent 3 is 0");
  EXPECT_TRUE(ParseShapeFlag("a=b=1x2", &options).ok());
  EXPECT_EQ(options.shapes["a=b"], (graph::Shape{1, 2}));
  EXPECT_TRUE(ParseShapeFlag("scalar=", &options).ok());
  ExpectError(ParseShapeFlag("scalar=1", &options), "--shape names 'scalar' twice");
}

}  // namespace
}  // namespace temper::importer
