#include <string_view>
#include <utility>

#include "compiler/graph/compose/functions.h"
#include "compiler/graph/outside_op.h"

namespace temper::graph {

namespace {

// Whether a reduction cannot be computed in the type of its operand.
bool NeedsCast(const Graph& graph, const Node& node) {
  if (node.Input(0) == kNone) return false;
  const DType dtype = *graph.type(node.Input(0)).dtype;
  return dtype == DType::kBool ||
         (IsInt(dtype) && node.op != "ReduceMax" && node.op != "ReduceMin");
}

}  // namespace

Status ComposeNode(Graph& graph, int node_id) {
  static constexpr std::pair<std::string_view, void (*)(Composer&)> kCompositions[] = {
      {"AffineGrid", ComposeAffineGrid},
      {"Attention", ComposeAttention},
      {"CastLike", ComposeCastLike},
      {"CenterCropPad", ComposeCenterCropPad},
      {"Concat", ComposeWideConcat},
      {"ConvInteger", ComposeConvInteger},
      {"DFT", ComposeDft},
      {"DequantizeLinear", ComposeDequantizeLinear},
      {"GRU", ComposeGru},
      {"GlobalLpPool", ComposeGlobalLpPool},
      {"GroupNormalization", ComposeGroupNormalization},
      {"Hardmax", ComposeHardmax},
      {"InstanceNormalization", ComposeInstanceNormalization},
      {"LSTM", ComposeLstm},
      {"LpNormalization", ComposeLpNormalization},
      {"MatMulInteger", ComposeMatMulInteger},
      {"MeanVarianceNormalization", ComposeMeanVarianceNormalization},
      {"NegativeLogLikelihoodLoss", ComposeNegativeLogLikelihoodLoss},
      {"QLinearConv", ComposeQLinearConv},
      {"QLinearMatMul", ComposeQLinearMatMul},
      {"QuantizeLinear", ComposeQuantizeLinear},
      {"RMSNormalization", ComposeRmsNormalization},
      {"RNN", ComposeRnn},
      {"ReduceL2", ComposeCastReduction},
      {"ReduceLogSum", ComposeCastReduction},
      {"ReduceLogSumExp", ComposeCastReduction},
      {"ReduceMax", ComposeCastReduction},
      {"ReduceMin", ComposeCastReduction},
      {"Resize", ComposeResize},
      {"RotaryEmbedding", ComposeRotaryEmbedding},
      {"STFT", ComposeStft},
      {"SoftmaxCrossEntropyLoss", ComposeSoftmaxCrossEntropyLoss},
      {"Split", ComposeWideSplit},
      {"TfIdfVectorizer", ComposeTfIdfVectorizer},
  };
  if (const OutsideOp* outside = graph.node(node_id).outside) {
    if (outside->compose == nullptr) return OkStatus();
    Composer composer(graph, node_id);
    outside->compose(composer);
    return composer.Finish();
  }
  if (!graph.node(node_id).domain.empty()) return OkStatus();
  for (const auto& [name, compose] : kCompositions) {
    if (name != graph.node(node_id).op) continue;
    if (compose == ComposeCastReduction && !NeedsCast(graph, graph.node(node_id))) break;
    if ((compose == ComposeWideSplit || compose == ComposeWideConcat) &&
        !IsWide(graph.node(node_id))) {
      break;
    }
    Composer composer(graph, node_id);
    compose(composer);
    return composer.Finish();
  }
  return OkStatus();
}

}  // namespace temper::graph
