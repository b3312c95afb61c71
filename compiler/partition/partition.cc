#include "compiler/partition/partition.h"

#include "base/text.h"
#include "compiler/partition/halo.h"

namespace temper::partition {

Result<Partition> PartitionGraph(const graph::Graph& graph, const PartitionOptions& options) {
  Partition partition;
  partition.halos = AssignHalos(graph);
  TEMPER_ASSIGN_OR_RETURN(const auto candidates, Candidates::Create(graph, partition.halos));
  TEMPER_ASSIGN_OR_RETURN(const auto groups,
                          options.chooser(graph, partition.halos, candidates, options.cost));
  for (const Group& group : groups) {
    TEMPER_ASSIGN_OR_RETURN(Kernel kernel, BuildKernel(graph, partition.halos, group));
    partition.kernels.push_back(std::move(kernel));
  }
  return partition;
}

namespace {

std::string Describe(const graph::Graph& graph, const Partition& partition, int value) {
  std::string text = "%" + graph.value(value).name + ": " + graph.type(value).ToString();
  if (auto halo = partition.halos.find(value); halo != partition.halos.end()) {
    text += " halo " + graph::ShapeToString(halo->second.before) +
            graph::ShapeToString(halo->second.after);
  }
  return text;
}

}  // namespace

std::string Print(const graph::Graph& graph, const Partition& partition) {
  std::string text;
  for (size_t i = 0; i < partition.kernels.size(); ++i) {
    const Kernel& kernel = partition.kernels[i];
    text += std::to_string(i) + " " + kernel.program.name + (kernel.view ? " (view)" : "");
    for (int value : kernel.output_values) text += " " + Describe(graph, partition, value);
    text += " <-";
    for (int value : kernel.input_values) {
      if (!graph.value(value).IsConstant()) text += " " + Describe(graph, partition, value);
    }
    text += "  # " + JoinStrings(kernel.sources, ", ") + "\n";
  }
  return text;
}

}  // namespace temper::partition
