#include "compiler/graph/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace temper::graph {
namespace {

using NestedGraph = std::shared_ptr<const Graph>;

const NestedGraph* Find(const Node& node, const std::string& attribute) {
  const auto at = node.attributes.find(attribute);
  return at == node.attributes.end() ? nullptr : std::get_if<NestedGraph>(&at->second);
}

Status Fault(const Node& node, const std::string& what) {
  return Internal(fmt::format("graph verifier: {}: {}", node.Describe(), what));
}

// Whether the nested graph's inputs from `first` on fit the node's from `from` on.
// They fit as `fits(outer, inner)` says.
Status CheckInputs(const Graph& graph, const Node& node, size_t from, const Graph& nested,
                   size_t first, size_t count,
                   bool (*fits)(const ValueType& outer, const ValueType& inner) = HasRoom) {
  if (nested.inputs().size() != first + count || node.inputs.size() < from + count) {
    return Fault(node, fmt::format("its graph '{}' takes {} inputs of {}", nested.name,
                                   nested.inputs().size(), node.inputs.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    const int outer = node.inputs[from + i], inner = nested.inputs()[first + i];
    if (outer == kNone || !fits(graph.type(outer), nested.type(inner))) {
      return Fault(node, fmt::format("input {} is {} outside and {} inside", from + i,
                                     outer == kNone ? "absent" : graph.type(outer).ToString(),
                                     nested.type(inner).ToString()));
    }
  }
  return OkStatus();
}

Status CheckIf(const Graph& graph, const Node& node) {
  const NestedGraph *yes = Find(node, kThenBranch), *no = Find(node, kElseBranch);
  if (yes == nullptr || no == nullptr) return Fault(node, "a branch is missing");
  if (!node.HasInput(0)) return Fault(node, "its condition is missing");
  const auto count = static_cast<size_t>(std::max<int64_t>(0, node.Int("then_inputs", 0)));
  if (node.inputs.size() < 1 + count) return Fault(node, "then_inputs is wrong");
  TEMPER_RETURN_IF_ERROR(CheckInputs(graph, node, 1, **yes, 0, count));
  TEMPER_RETURN_IF_ERROR(
      CheckInputs(graph, node, 1 + count, **no, 0, node.inputs.size() - 1 - count));
  for (const auto& [branch, error] : {std::pair(yes, kThenError), std::pair(no, kElseError)}) {
    const size_t wanted = node.Has(error) ? 0 : node.outputs.size();
    if ((*branch)->outputs().size() != wanted || (node.Has(error) && !(*branch)->order().empty())) {
      return Fault(node, "its branches have other numbers of outputs");
    }
  }
  return OkStatus();
}

Status CheckLoop(const Graph& graph, const Node& node) {
  const NestedGraph* body = Find(node, kBody);
  if (body == nullptr) return Fault(node, "its body is missing");
  const LoopLayout layout(node);
  if (node.inputs.size() < layout.captured()) return Fault(node, "it has too few inputs");
  // The initial values may be smaller than the memory of what is carried.
  TEMPER_RETURN_IF_ERROR(CheckInputs(graph, node, LoopLayout::kInitial, **body, 1,
                                     node.inputs.size() - LoopLayout::kInitial,
                                     [](const ValueType& outer, const ValueType& inner) {
                                       return HasRoom(outer, inner) || HasRoom(inner, outer);
                                     }));
  if (node.outputs.size() < layout.first_row_result() ||
      (*body)->outputs().size() !=
          node.outputs.size() - layout.first_row_result() + layout.first_row()) {
    return Fault(node, "its body has another number of outputs");
  }
  return OkStatus();
}

}  // namespace

bool IsControlFlow(const Node& node) { return node.Is("If") || node.Is("Loop"); }

const Graph& Nested(const Node& node, const std::string& attribute) {
  const NestedGraph* graph = Find(node, attribute);
  TEMPER_CHECK(graph != nullptr && *graph != nullptr);
  return **graph;
}

std::vector<std::string> NestedNames(const Node& node) {
  if (node.Is("If")) return {kThenBranch, kElseBranch};
  if (node.Is("Loop")) return {kBody};
  return {};
}

LoopLayout::LoopLayout(const Node& node)
    : carried(static_cast<size_t>(std::max<int64_t>(0, node.Int("carried", 0)))),
      conditional(node.Int("conditional", 0) != 0),
      counts(node.Int("counts", 0) != 0),
      max_trips(node.Int("max_trips", -1)) {}

std::optional<int64_t> ExactTrips(const Graph& graph, const Node& loop) {
  const Tensor* trips = graph.ConstantInput(loop, LoopLayout::kTrips);
  if (trips == nullptr || trips->size() != 1 || loop.HasInput(LoopLayout::kCondition) ||
      LoopLayout(loop).conditional) {
    return std::nullopt;
  }
  return std::max<int64_t>(0, trips->IntAt(0));
}

int64_t MostTrips(const Graph& graph, const Node& loop) {
  const Tensor* trips = graph.ConstantInput(loop, LoopLayout::kTrips);
  const int64_t declared = LoopLayout(loop).max_trips;
  if (trips == nullptr || trips->size() != 1) return declared;
  const int64_t most = std::max<int64_t>(0, trips->IntAt(0));
  return declared < 0 ? most : std::min(most, declared);
}

int64_t RoomOf(const Node& node, size_t output) {
  const std::vector<int64_t> room = node.Ints(kRoom);
  return output < room.size() ? room[output] : -1;
}

bool HasRoom(const ValueType& room, const ValueType& held) {
  if (room == held) return true;
  if (!room.IsStatic() || !held.IsStatic() || room.dtype != held.dtype || room.dims.size() != 1) {
    return false;
  }
  const auto elements = ElementCount(held.StaticShape());
  return elements && *elements <= room.dims[0].value;
}

Status ForEachNested(Graph& graph, const std::function<Status(Graph& nested)>& pass) {
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!IsControlFlow(graph.node(id))) continue;
    for (const std::string& name : NestedNames(graph.node(id))) {
      auto changed = std::make_shared<Graph>(Nested(graph.node(id), name));
      TEMPER_RETURN_IF_ERROR(pass(*changed));
      TEMPER_RETURN_IF_ERROR(ForEachNested(*changed, pass));
      graph.SetAttribute(id, name, NestedGraph(std::move(changed)));
    }
  }
  return OkStatus();
}

Status CheckControlFlow(const Graph& graph, const Node& node) {
  if (node.Is("If")) return CheckIf(graph, node);
  return node.Is("Loop") ? CheckLoop(graph, node) : OkStatus();
}

}  // namespace temper::graph
