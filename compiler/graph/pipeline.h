// The graph passes in their order, and a runner that can leave some out and show their results.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace temper::graph {

struct Pass {
  std::string_view name;
  Status (*run)(Graph& graph);
  std::string_view summary;  // one line
};

// In the order in which they run.
std::span<const Pass> Passes();

struct PipelineOptions {
  std::vector<std::string> disabled;  // names of passes to leave out
  bool verify = true;                 // run the verifier after each pass
  // Called after each pass that ran.
  std::function<void(const Pass& pass, const Graph& graph)> after;
};

// Errors of a pass come as they are; a name in `disabled` that is no pass is an error that lists
// the passes; a graph that a pass broke is kInternal and names the pass.
Status RunPipeline(Graph& graph, const PipelineOptions& options = {});

}  // namespace temper::graph
