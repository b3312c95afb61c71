#include "compiler/partition/kernel.h"

#include <algorithm>
#include <set>

#include "compiler/ops/emitter.h"
#include "compiler/ops/op_table.h"
#include "compiler/partition/inline.h"

namespace temper::partition {

namespace {

Result<Kernel> RuntimeKernel(const graph::Graph& graph, const Group& group) {
  const graph::Node& node = graph.node(group.nodes[0]);
  Kernel kernel;
  kernel.nodes = group.nodes;
  kernel.sources = node.sources;
  TEMPER_ASSIGN_OR_RETURN(kernel.call, ops::MakeRuntimeCall(graph, node));
  kernel.input_values = kernel.call->Inputs();
  kernel.output_values = kernel.call->Outputs();
  kernel.program.name = node.op;
  return kernel;
}

Kernel ControlKernel(const graph::Graph& graph, const Group& group) {
  const graph::Node& node = graph.node(group.nodes[0]);
  Kernel kernel;
  kernel.control = true;
  kernel.nodes = group.nodes;
  kernel.sources = node.sources;
  for (int value : node.inputs) {
    if (value != graph::kNone) kernel.input_values.push_back(value);
  }
  for (int value : node.outputs) {
    if (value != graph::kNone) kernel.output_values.push_back(value);
  }
  kernel.program.name = node.op;
  return kernel;
}

}  // namespace

Result<Kernel> BuildKernel(const graph::Graph& graph, const ops::Halos& halos, const Group& group) {
  TEMPER_CHECK(!group.nodes.empty());
  for (int id : group.nodes) {
    const ops::OpEntry* entry = ops::FindBuilder(graph.node(id));
    if (entry == nullptr || !ops::StandsAlone(entry->kind)) continue;
    if (group.nodes.size() != 1) {
      return Unimplemented(graph.node(id).Describe() + ": it stands alone");
    }
    if (entry->kind == ops::OpKind::kControl) return ControlKernel(graph, group);
    return RuntimeKernel(graph, group);
  }
  ops::Emitter emitter(graph, halos);
  Kernel kernel;
  kernel.nodes = group.nodes;
  for (int id : group.nodes) {
    TEMPER_RETURN_IF_ERROR(emitter.Add(id));
    for (const std::string& source : graph.node(id).sources) {
      if (std::find(kernel.sources.begin(), kernel.sources.end(), source) == kernel.sources.end()) {
        kernel.sources.push_back(source);
      }
    }
  }
  const graph::Node& last = graph.node(group.nodes.back());
  std::string name;
  for (int id : group.nodes) name += (name.empty() ? "" : "+") + graph.node(id).op;
  for (int value : last.outputs) {
    if (value == graph::kNone || (graph.value(value).uses.empty() && !graph.IsOutput(value))) {
      continue;
    }
    emitter.AddOutput(value);
    kernel.output_values.push_back(value);
  }
  kernel.input_values = emitter.input_values();
  kernel.program = InlinePoints(emitter.TakeProgram());
  kernel.program.name = name;
  TEMPER_RETURN_IF_ERROR(te::Verify(kernel.program).WithContext(last.Describe()));
  kernel.view = kernel.input_values.size() == 1 && kernel.output_values.size() == 1 &&
                halos.count(kernel.input_values[0]) == 0 &&
                halos.count(kernel.output_values[0]) == 0 &&
                std::all_of(group.nodes.begin(), group.nodes.end(), [&](int id) {
                  const graph::Node& node = graph.node(id);
                  return node.Is("Identity") || node.Is("Dropout") ||
                         ops::FindBuilder(node)->build == ops::BuildReshape;
                });
  return kernel;
}

int64_t InlinedSize(const te::Program& program, int64_t limit) {
  std::vector<int64_t> size(program.tensors.size(), 1);
  int64_t largest = 0;
  for (const te::Stage& stage : program.stages) {
    int64_t total = 0;
    tir::Visit(stage.body, [&](const tir::Expr& e) {
      total += e->kind() == tir::ExprKind::kLoad ? size[e->buffer()] : 1;
      return total < limit;
    });
    total = std::min(total, limit);
    largest = std::max(largest, total);
    if (stage.combiner == te::Combiner::kNone) size[stage.tensor] = total;
  }
  return largest;
}

}  // namespace temper::partition
