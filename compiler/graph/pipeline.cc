#include "compiler/graph/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/passes/canonicalize.h"
#include "compiler/graph/passes/common_subexpressions.h"
#include "compiler/graph/passes/dead_code.h"
#include "compiler/graph/passes/decompose.h"
#include "compiler/graph/passes/fold_batch_norm.h"
#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/passes/fold_scales.h"
#include "compiler/graph/passes/fuse_layer_norm.h"
#include "compiler/graph/passes/infer_shapes.h"
#include "compiler/graph/passes/remove_identity.h"
#include "compiler/graph/verify.h"

namespace temper::graph {
namespace {

constexpr Pass kPasses[] = {
    {"infer_shapes", RunInferShapes, "give every value a static type"},
    {"fold_constants", RunFoldConstants, "compute what depends on constants only"},
    {"decompose", RunDecompose, "write compositions of operators as such"},
    {"canonicalize", RunCanonicalize, "write out defaults; one form for each operator"},
    {"remove_identity", RunRemoveIdentity, "remove nodes that change nothing"},
    {"fold_batch_norm", RunFoldBatchNorm, "batch normalization into convolutions"},
    {"fold_scales", RunFoldScales, "constant scales and shifts into convolutions"},
    {"common_subexpressions", RunCommonSubexpressions, "compute the same thing once"},
    {"fuse_layer_norm", RunFuseLayerNorm, "layer normalizations that were spelled out"},
    {"dead_code", RunDeadCode, "remove what no output needs"},
};

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

Status RunPipeline(Graph& graph, const PipelineOptions& options) {
  for (const std::string& name : options.disabled) {
    const bool known = std::any_of(std::begin(kPasses), std::end(kPasses),
                                   [&](const Pass& pass) { return pass.name == name; });
    if (known) continue;
    std::string names;
    for (const Pass& pass : kPasses)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
    return InvalidArgument(fmt::format("no graph pass is called '{}'; there are {}", name, names));
  }
  for (const Pass& pass : kPasses) {
    if (std::find(options.disabled.begin(), options.disabled.end(), pass.name) !=
        options.disabled.end()) {
      continue;
    }
    TEMPER_RETURN_IF_ERROR(pass.run(graph));
    TEMPER_RETURN_IF_ERROR(ForEachNested(graph, pass.run));
    if (options.verify) {
      Status status = Verify(graph);
      if (!status.ok()) return status.WithContext(fmt::format("after pass {}", pass.name));
    }
    if (options.after) options.after(pass, graph);
  }
  return OkStatus();
}

}  // namespace temper::graph
