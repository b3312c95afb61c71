#include "compiler/partition/partition.h"

#include "base/text.h"
#include "compiler/partition/halo.h"

namespace temper::partition {

Result<Partition> PlanPartition(const graph::Graph& graph, const PartitionOptions& options) {
  Partition partition;
  if (options.in_place) partition.in_place = FindInPlace(graph);
  partition.halos = AssignHalos(graph, &partition.in_place);
  partition.places = PlaceParts(graph, partition.in_place, partition.halos);
  TEMPER_ASSIGN_OR_RETURN(const auto candidates,
                          Candidates::Create(graph, partition.halos, partition.in_place));
  TEMPER_ASSIGN_OR_RETURN(partition.groups,
                          options.chooser(graph, partition.halos, candidates, options.cost));
  return partition;
}

Result<Kernel> KernelOf(const graph::Graph& graph, const Partition& partition, const Group& group) {
  TEMPER_ASSIGN_OR_RETURN(Kernel kernel, BuildKernel(graph, partition.halos, group));
  for (int value : kernel.output_values) kernel.view &= !partition.places.count(value);
  return kernel;
}

Result<Partition> PartitionGraph(const graph::Graph& graph, const PartitionOptions& options) {
  TEMPER_ASSIGN_OR_RETURN(Partition partition, PlanPartition(graph, options));
  for (const Group& group : partition.groups) {
    TEMPER_ASSIGN_OR_RETURN(Kernel kernel, KernelOf(graph, partition, group));
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
  if (auto place = partition.places.find(value); place != partition.places.end()) {
    text += " in %" + graph.value(place->second.of).name + " at " +
            std::to_string(place->second.offset);
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
