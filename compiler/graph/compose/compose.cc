#include <string_view>
#include <utility>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {

namespace {

bool IsBool(const Graph& graph, int value) {
  return value != kNone && graph.type(value).dtype == DType::kBool;
}

}  // namespace

Status ComposeNode(Graph& graph, int node_id) {
  static constexpr std::pair<std::string_view, void (*)(Composer&)> kCompositions[] = {
      {"AffineGrid", ComposeAffineGrid},
      {"Attention", ComposeAttention},
      {"CastLike", ComposeCastLike},
      {"CenterCropPad", ComposeCenterCropPad},
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
      {"ReduceMax", ComposeBoolReduction},
      {"ReduceMin", ComposeBoolReduction},
      {"Resize", ComposeResize},
      {"RotaryEmbedding", ComposeRotaryEmbedding},
      {"STFT", ComposeStft},
      {"SoftmaxCrossEntropyLoss", ComposeSoftmaxCrossEntropyLoss},
  };
  if (!graph.node(node_id).domain.empty()) return OkStatus();
  for (const auto& [name, compose] : kCompositions) {
    if (name != graph.node(node_id).op) continue;
    if (compose == ComposeBoolReduction && !IsBool(graph, graph.node(node_id).Input(0))) break;
    Composer composer(graph, node_id);
    compose(composer);
    return composer.Finish();
  }
  return OkStatus();
}

}  // namespace temper::graph
