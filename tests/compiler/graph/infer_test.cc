#include "compiler/graph/infer/infer.h"

#include <gtest/gtest.h>

#include "compiler/graph/op_list.h"
#include "tests/compiler/graph/build.h"

namespace temper::graph {
namespace {

using Ints = std::vector<int64_t>;

// The type of a node's first result, or the error's message. Constant operands are lists of ints.
struct Operand {
  Shape shape;
  DType dtype = DType::kFloat32;
  std::optional<Ints> ints = std::nullopt;  // a constant int64 list instead
};
Operand T(Shape shape, DType dtype = DType::kFloat32) { return {std::move(shape), dtype}; }
Operand C(Ints ints) { return {{}, DType::kInt64, std::move(ints)}; }

std::string Infer(const std::string& op, const std::vector<Operand>& operands,
                  Attributes attributes = {}, size_t outputs = 1) {
  Graph graph;
  std::vector<int> inputs;
  for (const Operand& operand : operands) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(operand.ints ? IntsConstant(graph, name, *operand.ints)
                                  : Input(graph, name, operand.shape, operand.dtype));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back("y" + std::to_string(i));
  const int id = graph.AddNode(op, inputs, names, std::move(attributes), {"n"});
  const Status status = InferNode(graph, id);
  if (!status.ok()) return status.message();
  std::string text;
  for (int output : graph.node(id).outputs) {
    text += (text.empty() ? "" : " ") + graph.type(output).ToString();
  }
  return text;
}

TEST(InferTest, Elementwise) {
  EXPECT_EQ(Infer("Relu", {T({2, 3})}), "float32[2,3]");
  EXPECT_EQ(Infer("Add", {T({2, 1, 4}), T({3, 1})}), "float32[2,3,4]");
  EXPECT_EQ(Infer("Add", {T({0, 1}), T({1, 4})}), "float32[0,4]");
  EXPECT_EQ(Infer("Less", {T({2}), T({})}), "bool[2]");
  EXPECT_EQ(Infer("Cast", {T({2})}, {{"to", std::string("int64")}}), "int64[2]");
  EXPECT_EQ(Infer("Where", {T({2, 1}, DType::kBool), T({3}), T({})}), "float32[2,3]");
  EXPECT_EQ(Infer("Add", {T({2}), T({3})}), "Add 'n': shapes [2] and [3] do not broadcast");
  EXPECT_EQ(Infer("Add", {T({2}), T({2}, DType::kInt32)}),
            "Add 'n': input 0 is float32 but input 1 is int32");
  EXPECT_EQ(Infer("PRelu", {T({1, 4, 2}), T({4, 1})}), "float32[1,4,2]");
  EXPECT_EQ(Infer("PRelu", {T({4, 1}), T({1, 4, 2})}),
            "PRelu 'n': slope [1,4,2] does not broadcast to [4,1]");
}

TEST(InferTest, Convolutions) {
  const Operand x = T({1, 3, 224, 224});
  EXPECT_EQ(
      Infer("Conv", {x, T({64, 3, 7, 7})}, {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}),
      "float32[1,64,112,112]");
  EXPECT_EQ(Infer("Conv", {x, T({8, 3, 3, 3})},
                  {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}),
            "float32[1,8,112,112]");
  EXPECT_EQ(
      Infer("Conv", {T({1, 4, 9}), T({4, 1, 3})}, {{"group", int64_t{4}}, {"dilations", Ints{2}}}),
      "float32[1,4,5]");
  EXPECT_EQ(Infer("Conv", {x, T({64, 4, 7, 7})}),
            "Conv 'n': 3 input channels do not fit weights [64,4,7,7] with group 1");
  EXPECT_EQ(Infer("Conv", {x, T({8, 3, 3, 3})}, {{"strides", Ints{0, 1}}}),
            "Conv 'n': attribute 'strides' is [0,1]");
  EXPECT_EQ(Infer("Conv", {x, T({8, 3, 300, 3})}),
            "Conv 'n': the window of 300 does not fit in the padded input of 224");
  EXPECT_EQ(Infer("ConvTranspose", {T({1, 4, 5, 5}), T({4, 2, 3, 3})},
                  {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 1}}}),
            "float32[1,2,12,12]");
  EXPECT_EQ(Infer("MaxPool", {T({1, 8, 112, 112})},
                  {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}),
            "float32[1,8,55,55]");
  EXPECT_EQ(
      Infer("MaxPool", {T({1, 8, 112, 112})},
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
      "float32[1,8,56,56]");
  EXPECT_EQ(Infer("GlobalAveragePool", {T({1, 8, 7, 7})}), "float32[1,8,1,1]");
}

TEST(InferTest, Matrices) {
  EXPECT_EQ(Infer("MatMul", {T({5, 1, 2, 3}), T({4, 3, 6})}), "float32[5,4,2,6]");
  EXPECT_EQ(Infer("MatMul", {T({3}), T({3})}), "float32[]");
  EXPECT_EQ(Infer("MatMul", {T({2, 3}), T({4, 5})}),
            "MatMul 'n': shapes [2,3] and [4,5] cannot be multiplied");
  EXPECT_EQ(Infer("Gemm", {T({3, 2}), T({5, 3}), T({5})},
                  {{"transA", int64_t{1}}, {"transB", int64_t{1}}}),
            "float32[2,5]");
}

TEST(InferTest, Reductions) {
  EXPECT_EQ(Infer("ReduceMean", {T({2, 3, 4}), C({-1, 0})}), "float32[1,3,1]");
  EXPECT_EQ(Infer("ReduceSum", {T({2, 3})}, {{"keepdims", int64_t{0}}}), "float32[]");
  EXPECT_EQ(Infer("ReduceSum", {T({2, 3})}, {{"noop_with_empty_axes", int64_t{1}}}),
            "float32[2,3]");
  EXPECT_EQ(Infer("ArgMax", {T({2, 3})}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}),
            "int64[2]");
  EXPECT_EQ(Infer("ReduceMax", {T({2}), C({1})}),
            "ReduceMax 'n': axis 1 does not exist in a tensor of 1 dimensions");
}

TEST(InferTest, Reshapes) {
  EXPECT_EQ(Infer("Reshape", {T({2, 3, 4}), C({0, -1})}), "float32[2,12]");
  EXPECT_EQ(Infer("Reshape", {T({2, 3}), C({4, -1})}),
            "Reshape 'n': [2,3] cannot be reshaped to [4,-1]");
  EXPECT_EQ(Infer("Reshape", {T({2, 3}), C({-1, -1})}),
            "Reshape 'n': [2,3] cannot be reshaped to [-1,-1]");
  EXPECT_EQ(Infer("Reshape", {T({2, 3}), T({2}, DType::kInt64)}), "?");
  EXPECT_EQ(Infer("Flatten", {T({2, 3, 4})}, {{"axis", int64_t{0}}}), "float32[1,24]");
  EXPECT_EQ(Infer("Flatten", {T({2, 3, 4})}, {{"axis", int64_t{3}}}), "float32[24,1]");
  EXPECT_EQ(Infer("Squeeze", {T({1, 3, 1})}), "float32[3]");
  EXPECT_EQ(Infer("Squeeze", {T({1, 3, 1}), C({1})}),
            "Squeeze 'n': dimension 1 of [1,3,1] is not 1");
  EXPECT_EQ(Infer("Unsqueeze", {T({3}), C({0, -1})}), "float32[1,3,1]");
  EXPECT_EQ(Infer("Transpose", {T({2, 3, 4})}), "float32[4,3,2]");
  EXPECT_EQ(Infer("Transpose", {T({2, 3})}, {{"perm", Ints{0, 0}}}),
            "Transpose 'n': an axis is named twice");
}

TEST(InferTest, Movement) {
  EXPECT_EQ(Infer("Concat", {T({2, 3}), T({2, 4})}, {{"axis", int64_t{-1}}}), "float32[2,7]");
  EXPECT_EQ(Infer("Concat", {T({2, 3}), T({1, 3})}, {{"axis", int64_t{1}}}),
            "Concat 'n': shapes [2,3] and [1,3] cannot be joined along axis 1");
  EXPECT_EQ(Infer("Split", {T({7, 2})}, {}, 3), "float32[3,2] float32[3,2] float32[1,2]");
  EXPECT_EQ(Infer("Split", {T({7, 2}), C({2, 5})}, {}, 2), "float32[2,2] float32[5,2]");
  EXPECT_EQ(Infer("Slice", {T({10, 10}), C({-3, 8}), C({100, -100}), C({0, 1}), C({1, -3})}),
            "float32[3,3]");
  EXPECT_EQ(Infer("Slice", {T({10}), C({INT64_MIN}), C({INT64_MAX}), C({0}), C({INT64_MAX})}),
            "float32[1]");
  EXPECT_EQ(Infer("Slice", {T({10}), C({INT64_MAX}), C({INT64_MIN}), C({0}), C({INT64_MIN})}),
            "float32[1]");
  EXPECT_EQ(Infer("Slice", {T({10}), C({-99}), C({INT64_MIN}), C({0}), C({-1})}), "float32[1]");
  EXPECT_EQ(Infer("Slice", {T({0}), C({-99}), C({INT64_MIN}), C({0}), C({-1})}), "float32[0]");
  EXPECT_EQ(Infer("Loop", {C({3}), T({})}), "Loop 'n': its body is missing");
  EXPECT_EQ(Infer("Pad", {T({2, 3}), C({1, 0, 0, 2})}), "float32[3,5]");
  EXPECT_EQ(Infer("Pad", {T({2, 3}), C({-5, 0, 0, 0})}),
            "Pad 'n': padding -5 and 0 do not fit dimension 0 of [2,3]");
  EXPECT_EQ(Infer("Pad", {T({0, 2}), C({1, 3, -1, -3})}), "float32[0,2]");
  EXPECT_EQ(Infer("Pad", {T({0, 2}), C({2, -3, -1, 2})}), "float32[1,1]");
  const std::map<std::string, Attribute> edge{{"mode", std::string("edge")}};
  EXPECT_EQ(Infer("Pad", {T({0}), C({-1, 1})}, edge), "float32[0]");
  EXPECT_EQ(Infer("Pad", {T({1}), C({-1, 1})}, edge),
            "Pad 'n': padding -1 and 1 do not fit dimension 0 of [1]");
  const std::map<std::string, Attribute> wrap{{"mode", std::string("wrap")}};
  EXPECT_EQ(Infer("Pad", {T({3}), C({-1, 7})}, wrap), "float32[9]");
  EXPECT_EQ(Infer("Pad", {T({3}), C({INT64_MIN, INT64_MAX})}, wrap),
            "Pad 'n': padding -9223372036854775808 and 9223372036854775807 do not fit dimension 0 "
            "of [3]");
  EXPECT_EQ(Infer("Expand", {T({3, 1}), C({2, 1, 4})}), "float32[2,3,4]");
  EXPECT_EQ(Infer("Tile", {T({2, 3}), C({2, 0})}), "float32[4,0]");
  EXPECT_EQ(Infer("Tile", {T({2}), C({int64_t{1} << 62})}),
            "Tile 'n': repeats is [4611686018427387904]");
  EXPECT_EQ(Infer("Gather", {T({4, 5}), T({2, 3}, DType::kInt64)}, {{"axis", int64_t{1}}}),
            "float32[4,2,3]");
  EXPECT_EQ(Infer("Gather", {T({4, 5}), C({-5, 4})}, {{"axis", int64_t{1}}}), "float32[4,2]");
  EXPECT_EQ(Infer("Gather", {T({4, 5}), C({0, 5})}, {{"axis", int64_t{1}}}),
            "Gather 'n': index 5 is out of range for dimension 1 of [4,5]");
  EXPECT_EQ(Infer("GatherElements", {T({4}), C({-5})}),
            "GatherElements 'n': index -5 is out of range for dimension 0 of [4]");
  EXPECT_EQ(Infer("DFT", {T({1, 4, 1}), C({4}), T({1})}), "DFT 'n': its axis must be one integer");
  EXPECT_EQ(Infer("DFT", {T({1, 0, 1})}),
            "DFT 'n': there is nothing to transform along its axis 1");
  EXPECT_EQ(
      Infer("DequantizeLinear", {T({2}, DType::kInt64), T({})}),
      "DequantizeLinear 'n': its input must be quantized, to float8 or integers of at most 32 "
      "bits");
  EXPECT_EQ(Infer("Col2Im", {T({1, 1, 4}), C({1 << 30, 1 << 30, 1 << 30}), C({1, 1, 1})}),
            "Col2Im 'n': [1,1,4] does not fit blocks [1,1,1] at "
            "[1073741824,1073741824,1073741824] positions");
  EXPECT_EQ(Infer("GatherND", {T({2, 4}), C({-2, 3})}), "float32[]");
  EXPECT_EQ(Infer("GatherND", {T({2, 4}), C({1, 4})}),
            "GatherND 'n': index 4 is out of range for dimension 1 of [2,4]");
  EXPECT_EQ(Infer("ScatterND", {T({2, 4}), C({2, 0}), T({})}),
            "ScatterND 'n': index 2 is out of range for dimension 0 of [2,4]");
  EXPECT_EQ(Infer("ScatterElements", {T({4}), C({4}), T({1})}),
            "ScatterElements 'n': index 4 is out of range for dimension 0 of [4]");
}

TEST(InferTest, ShapeValues) {
  EXPECT_EQ(Infer("Shape", {T({2, 3, 4})}, {{"start", int64_t{-2}}}), "int64[2]");
  EXPECT_EQ(Infer("ConstantOfShape", {C({2, 3})}), "float32[2,3]");
  EXPECT_EQ(Infer("ConstantOfShape", {C({int64_t{1} << 40, int64_t{1} << 40})}),
            "ConstantOfShape 'n': its result of shape [1099511627776,1099511627776] is too large");
}

TEST(InferTest, ResultsTooLargeForAnyMemoryAreRefused) {
  EXPECT_EQ(Infer("MatMul", {T({int64_t{1} << 40, 1}), T({1, int64_t{1} << 40})}),
            "MatMul 'n': its result of shape [1099511627776,1099511627776] is too large");
}

TEST(InferTest, NumbersOfAttributesMayBeTheLargestThereAre) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const int64_t huge = int64_t{1} << 40;
  has(Infer("Attention", {T({1, 1, huge}), T({1, 1, 1}), T({1, 1, huge})},
            {{"q_num_heads", huge}, {"kv_num_heads", int64_t{1}}}),
      "its result of shape [1,1099511627776,1,1099511627776] is too large");
  EXPECT_EQ(Infer("QuantizeLinear", {T({3, 4}), T({1, 4})},
                  {{"axis", int64_t{0}}, {"block_size", INT64_MAX}}),
            "uint8[3,4]");
  has(Infer("Resize", {T({1, huge}), T({0}), T({0}), C({huge, huge})},
            {{"keep_aspect_ratio_policy", std::string("not_smaller")}}),
      "dimension 1 of its result would be");
  has(Infer("Reshape", {T({1}), C(Ints(65, 1))}), "its result has 65 dimensions");
}

TEST(InferTest, OperandsOfAnotherTypeAreRefused) {
  EXPECT_EQ(Infer("Pad", {T({3}), C({1, 1}), T({}, DType::kInt64)}),
            "Pad 'n': input 0 is float32 but input 2 is int64");
  EXPECT_EQ(Infer("Pad", {T({3}), C({1, 1}), T({0})}), "Pad 'n': its value must be one number");
  EXPECT_EQ(Infer("QuantizeLinear", {T({3}), T({})}, {{"output_dtype", std::string("bool")}}),
            "QuantizeLinear 'n': its result cannot be bool");
}

TEST(OpListTest, ArityIsChecked) {
  Graph graph;
  const int x = Input(graph, "x", {1});
  EXPECT_NE(FindOp("", "Conv"), nullptr);
  EXPECT_EQ(FindOp("", "Convolution"), nullptr);
  EXPECT_EQ(FindOp("com.example", "Conv"), nullptr);
  const auto check = [&](const char* op, std::vector<int> inputs) {
    return CheckArity(graph.node(graph.AddNode(op, std::move(inputs), {"y"}, {}, {"n"})));
  };
  ExpectOk(check("Clip", {x, kNone, x}));
  ExpectError(check("Conv", {x}), "Conv 'n': input 1 is missing");
  ExpectError(check("Relu", {x, x}), "it has 2 inputs; Relu takes at most 1");
  ExpectError(check("Concat", {x, kNone}), "input 1 is missing");
}

}  // namespace
}  // namespace temper::graph
