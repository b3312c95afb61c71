#include "tests/fuzz/front_end.h"

#include <cstdio>

#include "base/status.h"
#include "compiler/graph/passes/infer_shapes.h"
#include "compiler/graph/pipeline.h"
#include "compiler/graph/verify.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/partition.h"
#include "compiler/te/canonical.h"
#include "compiler/te/merge_axes.h"

namespace temper::fuzz {
namespace {

// Whether the work goes on; aborts where the fault is ours.
bool Goes(const Status& status) {
  if (status.code() == Code::kInternal) std::fprintf(stderr, "%s\n", status.message().c_str());
  TEMPER_CHECK(status.code() != Code::kInternal);
  return status.ok();
}

// Whether evaluating constants would take long: the compiler's bound of a gigabyte is far above a
// fuzzer's patience. Values too large for that bound are never evaluated.
bool Slow(const graph::Graph& graph) {
  constexpr int64_t kMost = int64_t{32} << 20, kNever = int64_t{2} << 30;
  int64_t bytes = 0;
  for (int v = 0; v < graph.value_count(); ++v) {
    const graph::ValueType& type = graph.type(v);
    if (!type.IsStatic() || graph.value(v).is_input) continue;
    const int64_t own = *graph::ByteCount(*type.dtype, type.StaticShape());
    if (own < kNever) bytes += own;
    if (bytes > kMost) return true;
  }
  return false;
}

}  // namespace

void RunFrontEnd(graph::Graph& graph) {
  if (!Goes(graph::RunInferShapes(graph)) || Slow(graph)) return;
  if (!Goes(graph::RunPipeline(graph))) return;
  for (auto* pass :
       {partition::MaterializeOutputs, partition::ChannelsLast, partition::DropReducedDimensions}) {
    if (!Goes(pass(graph))) return;
    TEMPER_CHECK(graph::Verify(graph).ok());
  }
  auto partition = partition::PartitionGraph(graph, {});
  if (!Goes(partition.status())) return;
  for (const partition::Kernel& kernel : partition->kernels) {
    if (kernel.call || kernel.control || kernel.view) continue;  // no program
    const te::Program program = te::Canonicalize(te::MergeAxes(kernel.program));
    TEMPER_CHECK(te::Verify(program).ok());
  }
}

}  // namespace temper::fuzz
