#include "compiler/ops/op_table.h"

namespace temper::ops {
namespace {

constexpr OpKind kE = OpKind::kElementwise;
constexpr OpKind kI = OpKind::kInjective;
constexpr OpKind kR = OpKind::kReduction;
constexpr OpKind kC = OpKind::kComposite;

constexpr OpEntry kOps[] = {
    {"Abs", kE, BuildUnary},
    {"Acos", kE, BuildUnary},
    {"Acosh", kE, BuildUnary},
    {"Add", kE, BuildBinary},
    {"And", kE, BuildBinary},
    {"ArgMax", kC, BuildArgReduce},
    {"ArgMin", kC, BuildArgReduce},
    {"Asin", kE, BuildUnary},
    {"Asinh", kE, BuildUnary},
    {"Atan", kE, BuildUnary},
    {"Atanh", kE, BuildUnary},
    {"AveragePool", kR, BuildAveragePool, true},
    {"BatchNormalization", kE, BuildBatchNormalization, true},
    {"Cast", kE, BuildCast},
    {"Ceil", kE, BuildUnary},
    {"Celu", kE, BuildUnary},
    {"Clip", kE, BuildClip},
    {"Concat", kI, BuildConcat},
    {"Conv", kR, BuildConv, true},
    {"ConvTranspose", kR, BuildConvTranspose, true},
    {"Cos", kE, BuildUnary},
    {"Cosh", kE, BuildUnary},
    {"DepthToSpace", kI, BuildDepthToSpace},
    {"Div", kE, BuildBinary},
    {"Dropout", kE, BuildUnary},
    {"Elu", kE, BuildUnary},
    {"Equal", kE, BuildBinary},
    {"Erf", kE, BuildUnary},
    {"Exp", kE, BuildUnary},
    {"Expand", kI, BuildExpand},
    {"Flatten", kI, BuildReshape},
    {"Floor", kE, BuildUnary},
    {"Gather", kI, BuildGather},
    {"Gelu", kE, BuildUnary},
    {"Gemm", kR, BuildGemm},
    {"GlobalAveragePool", kR, BuildGlobalPool},
    {"GlobalMaxPool", kR, BuildGlobalPool},
    {"Greater", kE, BuildBinary},
    {"GreaterOrEqual", kE, BuildBinary},
    {"HardSigmoid", kE, BuildUnary},
    {"HardSwish", kE, BuildUnary},
    {"Identity", kE, BuildUnary},
    {"LRN", kC, BuildLrn, true},
    {"LayerNormalization", kC, BuildLayerNormalization},
    {"LeakyRelu", kE, BuildUnary},
    {"Less", kE, BuildBinary},
    {"LessOrEqual", kE, BuildBinary},
    {"Log", kE, BuildUnary},
    {"LogSoftmax", kC, BuildSoftmax},
    {"MatMul", kR, BuildMatMul},
    {"Max", kE, BuildVariadic},
    {"MaxPool", kR, BuildMaxPool, true},
    {"Mean", kE, BuildVariadic},
    {"Min", kE, BuildVariadic},
    {"Mish", kE, BuildUnary},
    {"Mod", kE, BuildBinary},
    {"Mul", kE, BuildBinary},
    {"Neg", kE, BuildUnary},
    {"Not", kE, BuildUnary},
    {"Or", kE, BuildBinary},
    {"PRelu", kE, BuildBinary},
    {"Pad", kI, BuildPad},
    {"Pow", kE, BuildBinary},
    {"Reciprocal", kE, BuildUnary},
    {"ReduceL1", kR, BuildReduce},
    {"ReduceL2", kR, BuildReduce},
    {"ReduceLogSum", kR, BuildReduce},
    {"ReduceLogSumExp", kC, BuildReduce},
    {"ReduceMax", kR, BuildReduce},
    {"ReduceMean", kR, BuildReduce},
    {"ReduceMin", kR, BuildReduce},
    {"ReduceProd", kR, BuildReduce},
    {"ReduceSum", kR, BuildReduce},
    {"ReduceSumSquare", kR, BuildReduce},
    {"Relu", kE, BuildUnary},
    {"Reshape", kI, BuildReshape},
    {"Round", kE, BuildUnary},
    {"Selu", kE, BuildUnary},
    {"Sigmoid", kE, BuildUnary},
    {"Sign", kE, BuildUnary},
    {"Sin", kE, BuildUnary},
    {"Sinh", kE, BuildUnary},
    {"Slice", kI, BuildSlice},
    {"Softmax", kC, BuildSoftmax},
    {"Softplus", kE, BuildUnary},
    {"Softsign", kE, BuildUnary},
    {"SpaceToDepth", kI, BuildSpaceToDepth},
    {"Split", kI, BuildSplit},
    {"Sqrt", kE, BuildUnary},
    {"Squeeze", kI, BuildReshape},
    {"Sub", kE, BuildBinary},
    {"Sum", kE, BuildVariadic},
    {"Tan", kE, BuildUnary},
    {"Tanh", kE, BuildUnary},
    {"Tile", kI, BuildTile},
    {"Transpose", kI, BuildTranspose},
    {"Unsqueeze", kI, BuildReshape},
    {"Where", kE, BuildWhere},
    {"Xor", kE, BuildBinary},
};

}  // namespace

const OpEntry* FindBuilder(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != "temper") return nullptr;
  for (const OpEntry& op : kOps) {
    if (op.name == name) return domain.empty() || op.channels_last ? &op : nullptr;
  }
  return nullptr;
}

}  // namespace temper::ops
