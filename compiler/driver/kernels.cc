#include "compiler/driver/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "compiler/graph/pipeline.h"
#include "compiler/graph/verify.h"
#include "compiler/import/import.h"
#include "compiler/partition/channels_last.h"
#include "compiler/partition/outputs.h"
#include "compiler/partition/partition.h"
#include "compiler/te/canonical.h"
#include "compiler/te/merge_axes.h"

namespace temper::driver {
namespace {

struct Pass {
  std::string_view name;
  Status (*run)(graph::Graph&);
  bool required;  // what follows does not work without it
};

// All passes in their order: those of the graph, then those that prepare the partition.
std::vector<Pass> Passes() {
  std::vector<Pass> passes;
  for (const graph::Pass& pass : graph::Passes()) {
    const bool required =
        pass.name == "infer_shapes" || pass.name == "decompose" || pass.name == "canonicalize";
    passes.push_back({pass.name, pass.run, required});
  }
  passes.push_back({"materialize_outputs", partition::MaterializeOutputs, true});
  passes.push_back({"channels_last", partition::ChannelsLast, false});
  passes.push_back({"drop_reduced_dimensions", partition::DropReducedDimensions, false});
  return passes;
}

// Kernels that no node of the source model is in change a layout for one that is: for the one that
// reads what they write, else for the one that wrote what they read. Where they are alone between
// an input and an output, the output's name has to do.
void NameLayoutKernels(const graph::Graph& graph, std::vector<partition::Kernel>& kernels) {
  std::map<int, std::string> reader, writer;  // by value
  for (size_t k = kernels.size(); k-- > 0;) {
    partition::Kernel& kernel = kernels[k];
    for (int value : kernel.output_values) {
      const auto found = reader.find(value);
      if (kernel.sources.empty() && found != reader.end()) kernel.sources = {found->second};
    }
    if (kernel.sources.empty()) continue;
    for (int value : kernel.input_values) reader[value] = kernel.sources.front();
  }
  for (partition::Kernel& kernel : kernels) {
    for (int value : kernel.input_values) {
      const auto found = writer.find(value);
      if (kernel.sources.empty() && found != writer.end()) kernel.sources = {found->second};
    }
    if (kernel.sources.empty()) kernel.sources = {graph.value(kernel.output_values[0]).name};
    for (int value : kernel.output_values) writer[value] = kernel.sources.back();
  }
}

Status CheckDisabled(const std::vector<Pass>& passes, const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    std::string known;
    bool found = false;
    for (const Pass& pass : passes) {
      if (pass.required) continue;
      found |= pass.name == name;
      known += (known.empty() ? "" : ", ") + std::string(pass.name);
    }
    if (!found) {
      return InvalidArgument(fmt::format("there is no pass {} that can be left out. There are: {}",
                                         Quoted(name), known));
    }
  }
  return OkStatus();
}

// "Conv+Relu 1x56x56x64": what it is and the shape of its result.
std::string NameOf(const te::Program& program) {
  std::string name = program.name;
  if (program.outputs.empty()) return name;
  name += ' ';
  const std::vector<int64_t>& shape = program.tensors[program.outputs[0]].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    name += (d ? "x" : "") + std::to_string(shape[d]);
  }
  return name;
}

// Leaves a view out where the caller's buffers are not in the way.
bool SharesStorage(const graph::Graph& graph, const partition::Kernel& kernel) {
  return kernel.view && !graph.IsOutput(kernel.output_values[0]) &&
         !graph.value(kernel.input_values[0]).IsConstant();
}

// One warning for each output whose declared type contradicts the inferred one.
std::vector<std::string> WrongDeclarations(
    const graph::Graph& graph, const std::map<std::string, graph::ValueType>& declared) {
  std::vector<std::string> warnings;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = graph.output_names()[i];
    const auto at = declared.find(name);
    const graph::ValueType& type = graph.type(graph.outputs()[i]);
    if (at == declared.end() || !type.has_rank) continue;
    const graph::ValueType& said = at->second;
    bool wrong =
        said.dtype != type.dtype || (said.has_rank && said.dims.size() != type.dims.size());
    for (size_t d = 0; !wrong && said.has_rank && d < type.dims.size(); ++d) {
      wrong =
          said.dims[d].known() && type.dims[d].known() && said.dims[d].value != type.dims[d].value;
    }
    if (!wrong) continue;
    warnings.push_back(fmt::format("output '{}' is declared as {}, but the model computes {}",
                                   EscapeControl(name), said.ToString(), type.ToString()));
  }
  return warnings;
}

}  // namespace

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const Pass& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

Status CheckDisabledPasses(const std::vector<std::string>& names) {
  return CheckDisabled(Passes(), names);
}

Result<ModelKernels> BuildKernels(const std::string& model, const FrontendOptions& options,
                                  const Target& /*target*/) {
  const std::vector<Pass> passes = Passes();
  TEMPER_RETURN_IF_ERROR(CheckDisabled(passes, options.disabled_passes));
  importer::ImportOptions import;
  import.shapes = options.shapes;
  import.values = options.values;
  std::map<std::string, graph::ValueType> declared;
  import.declared_outputs = &declared;
  ModelKernels result;
  TEMPER_ASSIGN_OR_RETURN(result.graph, importer::ImportFile(model, import));
  graph::Graph& graph = result.graph;
  if (options.after_pass) options.after_pass("import", graph);
  for (const Pass& pass : passes) {
    const auto& disabled = options.disabled_passes;
    if (std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    TEMPER_RETURN_IF_ERROR(pass.run(graph).WithContext(model));
    TEMPER_RETURN_IF_ERROR(
        graph::Verify(graph).WithContext(fmt::format("{}: after pass {}", model, pass.name)));
    if (options.after_pass) options.after_pass(pass.name, graph);
  }

  // Where options set other sizes than the file's, what it declares of outputs is out of date.
  if (options.shapes.empty() && options.values.empty())
    result.warnings = WrongDeclarations(graph, declared);

  auto partition = partition::PartitionGraph(graph, {});
  if (!partition.ok()) return partition.status().WithContext(model);
  NameLayoutKernels(graph, partition->kernels);
  result.storage.resize(graph.value_count());
  std::iota(result.storage.begin(), result.storage.end(), 0);
  std::map<Hash, int> known;
  for (partition::Kernel& kernel : partition->kernels) {
    if (SharesStorage(graph, kernel)) {
      result.storage[kernel.output_values[0]] = result.storage[kernel.input_values[0]];
      continue;
    }
    if (kernel.call) {
      result.kernels.push_back({-1, std::move(kernel.call), std::move(kernel.input_values),
                                std::move(kernel.output_values), std::move(kernel.sources)});
      continue;
    }
    te::Program program = te::Canonicalize(te::MergeAxes(kernel.program));
    const Hash hash = te::WorkloadHash(program);
    const auto [at, added] = known.emplace(hash, static_cast<int>(result.workloads.size()));
    if (added) {
      program.name = kernel.program.name;
      std::string name = NameOf(kernel.program);
      result.workloads.push_back({hash, std::move(program), std::move(name), 0});
    }
    ++result.workloads[at->second].uses;
    result.kernels.push_back({at->second, std::nullopt, std::move(kernel.input_values),
                              std::move(kernel.output_values), std::move(kernel.sources)});
  }
  return result;
}

Result<std::vector<TuningTask>> ExtractTasks(const std::string& model,
                                             const FrontendOptions& options, const Target& target) {
  TEMPER_ASSIGN_OR_RETURN(ModelKernels kernels, BuildKernels(model, options, target));
  std::vector<TuningTask> tasks;
  for (KernelWorkload& workload : kernels.workloads) {
    tasks.push_back({std::move(workload.name),
                     std::move(workload.program),
                     workload.hash,
                     static_cast<double>(workload.uses),
                     {}});
  }
  for (const ModelKernel& kernel : kernels.kernels) {
    if (kernel.call) continue;
    auto& nodes = tasks[kernel.workload].nodes;
    nodes.insert(nodes.end(), kernel.nodes.begin(), kernel.nodes.end());
  }
  return tasks;
}

}  // namespace temper::driver
