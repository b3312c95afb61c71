#include "compiler/ops/op_table.h"

#include "compiler/ops/outside_op.h"

namespace temper::ops {
namespace {

constexpr OpKind kE = OpKind::kElementwise;
constexpr OpKind kI = OpKind::kInjective;
constexpr OpKind kR = OpKind::kReduction;
constexpr OpKind kC = OpKind::kComposite;
constexpr OpKind kF = OpKind::kRuntime;
constexpr OpKind kN = OpKind::kControl;

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
    {"BitShift", kE, BuildBinary},
    {"BitwiseAnd", kE, BuildBinary},
    {"BitwiseNot", kE, BuildUnary},
    {"BitwiseOr", kE, BuildBinary},
    {"BitwiseXor", kE, BuildBinary},
    {"Cast", kE, BuildCast},
    {"Ceil", kE, BuildUnary},
    {"Celu", kE, BuildUnary},
    {"Clip", kE, BuildClip},
    {"Col2Im", kR, BuildCol2Im},
    {"Compress", kF, nullptr},
    {"Concat", kI, BuildConcat},
    {"Conv", kR, BuildConv, true},
    {"ConvTranspose", kR, BuildConvTranspose, true},
    {"Cos", kE, BuildUnary},
    {"Cosh", kE, BuildUnary},
    {"CumSum", kF, nullptr},
    {"DepthToSpace", kI, BuildDepthToSpace},
    {"DequantizeLinear", kE, BuildDequantizeLinear},
    {"Det", kF, nullptr},
    {"Div", kE, BuildBinary},
    {"Dropout", kE, BuildUnary},
    {"DynamicQuantizeLinear", kC, BuildDynamicQuantizeLinear},
    {"Einsum", kR, BuildEinsum},
    {"Elu", kE, BuildUnary},
    {"Equal", kE, BuildBinary},
    {"Erf", kE, BuildUnary},
    {"Exp", kE, BuildUnary},
    {"Expand", kI, BuildExpand},
    {"Flatten", kI, BuildReshape},
    {"Floor", kE, BuildUnary},
    {"Gather", kI, BuildGather},
    {"GatherElements", kI, BuildGatherElements},
    {"GatherND", kI, BuildGatherNd},
    {"Gelu", kE, BuildUnary},
    {"Gemm", kR, BuildGemm},
    {"GlobalAveragePool", kR, BuildGlobalPool},
    {"GlobalMaxPool", kR, BuildGlobalPool},
    {"Greater", kE, BuildBinary},
    {"GreaterOrEqual", kE, BuildBinary},
    {"GridSample", kF, nullptr},
    {"HardSigmoid", kE, BuildUnary},
    {"HardSwish", kE, BuildUnary},
    {"Identity", kE, BuildUnary},
    {"If", kN, nullptr},
    {"IsInf", kE, BuildUnary},
    {"IsNaN", kE, BuildUnary},
    {"LRN", kC, BuildLrn, true},
    {"LayerNormalization", kC, BuildLayerNormalization},
    {"LeakyRelu", kE, BuildUnary},
    {"Less", kE, BuildBinary},
    {"LessOrEqual", kE, BuildBinary},
    {"Log", kE, BuildUnary},
    {"LogSoftmax", kC, BuildSoftmax},
    {"Loop", kN, nullptr},
    {"LpPool", kR, BuildLpPool, true},
    {"MatMul", kR, BuildMatMul},
    {"Max", kE, BuildVariadic},
    {"MaxPool", kR, BuildMaxPool, true},
    {"MaxUnpool", kF, nullptr},
    {"Mean", kE, BuildVariadic},
    {"Min", kE, BuildVariadic},
    {"Mish", kE, BuildUnary},
    {"Mod", kE, BuildBinary},
    {"Mul", kE, BuildBinary},
    {"Neg", kE, BuildUnary},
    {"NonMaxSuppression", kF, nullptr},
    {"NonZero", kF, nullptr},
    {"Not", kE, BuildUnary},
    {"OneHot", kI, BuildOneHot},
    {"Or", kE, BuildBinary},
    {"PRelu", kE, BuildBinary},
    {"Pad", kI, BuildPad},
    {"Pow", kE, BuildBinary},
    {"QuantizeLinear", kE, BuildQuantizeLinear},
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
    {"ReverseSequence", kI, BuildReverseSequence},
    {"RoiAlign", kF, nullptr},
    {"Round", kE, BuildUnary},
    {"ScatterElements", kF, nullptr},
    {"ScatterND", kF, nullptr},
    {"Selu", kE, BuildUnary},
    {"Shrink", kE, BuildUnary},
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
    {"Swish", kE, BuildUnary},
    {"Tan", kE, BuildUnary},
    {"Tanh", kE, BuildUnary},
    {"ThresholdedRelu", kE, BuildUnary},
    {"Tile", kI, BuildTile},
    {"TopK", kF, nullptr},
    {"Transpose", kI, BuildTranspose},
    {"Trilu", kI, BuildTrilu},
    {"Unique", kF, nullptr},
    {"Unsqueeze", kI, BuildReshape},
    {"Where", kE, BuildWhere},
    {"Xor", kE, BuildBinary},
};

// In domain "temper" alone.
constexpr OpEntry kOwnOps[] = {
    {"PhaseConv", kR, BuildPhaseConv},
};

}  // namespace

const OpEntry* FindBuilder(std::string_view domain, std::string_view name) {
  if (!domain.empty() && domain != "temper") return nullptr;
  if (!domain.empty()) {
    for (const OpEntry& op : kOwnOps) {
      if (op.name == name) return &op;
    }
  }
  for (const OpEntry& op : kOps) {
    if (op.name == name) return domain.empty() || op.channels_last ? &op : nullptr;
  }
  return nullptr;
}

const OpEntry* FindBuilder(const graph::Node& node) {
  if (node.outside == nullptr) return FindBuilder(node.domain, node.op);
  const auto* op = dynamic_cast<const OutsideOp*>(node.outside);
  return op != nullptr && op->kernel.build != nullptr ? &op->kernel : nullptr;
}

}  // namespace temper::ops
