#include "compiler/import/open_extents.h"

#include <algorithm>
#include <string>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"

namespace temper::importer {
namespace {

using graph::kNone;

// The dimension that only the run knows; -1 if there is none.
int OpenDim(const graph::ValueType& type) {
  if (type.IsStatic() || !type.IsBounded()) return -1;
  const auto open = std::find_if(type.dims.begin(), type.dims.end(),
                                 [](const graph::Dim& dim) { return !dim.known(); });
  return static_cast<int>(open - type.dims.begin());
}

bool IsRead(const std::string& name, const Scope& scope) {
  if (scope.read == nullptr || scope.read->count(name) != 0) return true;
  return scope.outer != nullptr;  // what leaves a nested graph is read around it
}

}  // namespace

Status LetExtentsVary(GraphBuilder& builder, const onnx::NodeProto& node, const Scope& scope,
                      std::vector<int>* results) {
  graph::Graph& graph = builder.graph();
  int id = kNone;
  for (size_t i = 0; i < results->size() && static_cast<int>(i) < node.output_size(); ++i) {
    const int value = (*results)[i];
    if (value == kNone || OpenDim(graph.type(value)) < 0) continue;
    const graph::Node* producer = graph.ProducerOf(value);
    if (producer == nullptr || !graph::OpensExtents(*producer)) continue;
    if (IsRead(node.output(static_cast<int>(i)), scope)) id = graph.value(value).producer;
  }
  if (id == kNone) return OkStatus();
  const graph::Node old = graph.node(id);
  const int open = old.Output(0) == kNone ? -1 : OpenDim(graph.type(old.outputs[0]));
  if (open < 0) return OkStatus();
  const int64_t most = graph.type(old.outputs[0]).dims[static_cast<size_t>(open)].bound;
  if (most > graph::kMostOpen) return OkStatus();  // the pass infer_shapes says why
  if (most == 0) {                                 // there are never any
    for (int& value : *results) {
      if (value == kNone || OpenDim(graph.type(value)) < 0) continue;
      graph::ValueType type = graph.type(value);
      type.dims[static_cast<size_t>(OpenDim(type))] = graph::Dim(0);
      value = graph.AddConstant(graph.value(value).name,
                                graph::MakeTensor(*type.dtype, type.StaticShape()));
    }
    return OkStatus();
  }
  // The node once more, with room.
  std::vector<std::string> names;
  std::vector<int64_t> room;
  std::vector<graph::ValueType> types;
  for (int output : old.outputs) {
    names.push_back(output == kNone ? "" : graph.value(output).name);
    types.push_back(output == kNone ? graph::ValueType() : graph.type(output));
    const bool varies = output != kNone && OpenDim(types.back()) >= 0;
    // Never none: a tensor without elements is a constant, which no node computes.
    room.push_back(varies ? std::max<int64_t>(1, *graph::ElementCount(types.back().LargestShape()))
                          : -1);
  }
  names.push_back(names[0] + "/extents");
  room.push_back(-1);
  graph::Attributes attributes = old.attributes;
  attributes[graph::kRoom] = room;
  const int again = graph.AddNode(old.op, old.inputs, names, std::move(attributes), old.sources);
  const std::vector<int> outputs = graph.node(again).outputs;
  TEMPER_RETURN_IF_ERROR(graph::InferAndFoldSmall(graph, again));
  const int64_t axis = open;
  const int index = graph.AddConstant("axis", graph::MakeInts({}, {&axis, 1}));
  const int gather =
      graph.AddNode("Gather", {outputs.back(), index}, {names[0] + "/extent"}, {}, old.sources);
  TEMPER_RETURN_IF_ERROR(graph::InferAndFoldSmall(graph, gather));
  const int family = graph.node(gather).outputs[0];
  for (size_t i = 0; i < old.outputs.size(); ++i) {
    if (outputs[i] == kNone) continue;
    std::replace(results->begin(), results->end(), old.outputs[i], outputs[i]);
    if (room[i] < 0) continue;
    Varying& varying = builder.region()->varying[outputs[i]];
    varying.family = family;
    for (int64_t n = 0; n <= most; ++n) {
      graph::ValueType type = types[i];
      type.dims[static_cast<size_t>(OpenDim(types[i]))] = graph::Dim(n);
      varying.forms.push_back({std::move(type), nullptr});
    }
  }
  graph.RemoveNode(id);
  return OkStatus();
}

}  // namespace temper::importer
