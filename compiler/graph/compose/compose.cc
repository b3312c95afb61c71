#include <string_view>
#include <utility>

#include "compiler/graph/compose/functions.h"

namespace temper::graph {

Status ComposeNode(Graph& graph, int node_id) {
  static constexpr std::pair<std::string_view, void (*)(Composer&)> kCompositions[] = {
      {"CastLike", ComposeCastLike},
      {"GroupNormalization", ComposeGroupNormalization},
      {"Hardmax", ComposeHardmax},
      {"InstanceNormalization", ComposeInstanceNormalization},
      {"LpNormalization", ComposeLpNormalization},
      {"MeanVarianceNormalization", ComposeMeanVarianceNormalization},
      {"NegativeLogLikelihoodLoss", ComposeNegativeLogLikelihoodLoss},
      {"RMSNormalization", ComposeRmsNormalization},
      {"SoftmaxCrossEntropyLoss", ComposeSoftmaxCrossEntropyLoss},
  };
  if (!graph.node(node_id).domain.empty()) return OkStatus();
  for (const auto& [name, compose] : kCompositions) {
    if (name != graph.node(node_id).op) continue;
    Composer composer(graph, node_id);
    compose(composer);
    return composer.Finish();
  }
  return OkStatus();
}

}  // namespace temper::graph
