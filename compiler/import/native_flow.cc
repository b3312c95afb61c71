#include "compiler/import/native_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"

namespace temper::importer {
namespace {

using graph::Attribute;
using graph::kNone;

using GraphAttribute = std::shared_ptr<const graph::Graph>;

std::string NameOr(const std::string& name, const char* otherwise) {
  return name.empty() ? otherwise : name;
}

// The value of a constant of one element.
std::optional<bool> ConstantBool(const graph::Graph& graph, int value) {
  const graph::Tensor* tensor = graph.value(value).constant.get();
  if (tensor == nullptr || tensor->size() != 1) return std::nullopt;
  return tensor->DoubleAt(0) != 0;
}

}  // namespace

Result<NativeFlow::Outputs> NativeFlow::AddBody(const onnx::GraphProto& body,
                                                const std::vector<int>& inputs,
                                                const std::string& part) {
  auto values = builder_.AddBody(body, inputs, scope_, u_.node.name + "/" + part);
  if (!values.ok()) {
    if (values.status().message().find('\'') != std::string::npos) return values.status();
    return values.status().WithContext(fmt::format("{} '{}'", u_.node.op, u_.node.name));
  }
  Outputs outputs;
  for (size_t i = 0; i < values->size(); ++i) {
    outputs.emplace_back(body.output(static_cast<int>(i)).name(), (*values)[i]);
  }
  return outputs;
}

Result<std::vector<int>> NativeFlow::AddNode(const std::string& op, std::vector<int> inputs,
                                             size_t outputs, graph::Attributes attributes) {
  if (outputs == 0) return std::vector<int>();  // it does nothing
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(u_.OutputName(i));
  const int id = u_.graph.AddNode(op, std::move(inputs), std::move(names), std::move(attributes),
                                  {u_.node.name});
  const Status inferred = graph::InferNode(u_.graph, id);
  if (!inferred.ok()) {
    u_.graph.RemoveNode(id);
    return inferred;
  }
  return u_.graph.node(id).outputs;
}

Result<NestedGraph> NativeFlow::Branch(const onnx::GraphProto& body, const std::string& part) {
  return builder_.BuildNested(NameOr(body.name(), "branch"),
                              [&]() -> Result<Outputs> { return AddBody(body, {}, part); });
}

Result<std::vector<int>> NativeFlow::If(const onnx::GraphProto& yes, const onnx::GraphProto& no) {
  if (!u_.graph.type(u_.Input(0)).IsStatic()) {
    return u_.Refuse("the shape of a condition is not known");
  }
  TEMPER_ASSIGN_OR_RETURN(NestedGraph a, Branch(yes, "then/"));
  TEMPER_ASSIGN_OR_RETURN(NestedGraph b, Branch(no, "else/"));
  const size_t outputs = a.graph->outputs().size();
  if (outputs != b.graph->outputs().size()) {
    return u_.Error("its branches have different numbers of outputs");
  }
  std::vector<int> inputs = {u_.Input(0)};
  inputs.insert(inputs.end(), a.captured.begin(), a.captured.end());
  inputs.insert(inputs.end(), b.captured.begin(), b.captured.end());
  return AddNode("If", std::move(inputs), outputs,
                 {{graph::kThenBranch, GraphAttribute(std::move(a.graph))},
                  {graph::kElseBranch, GraphAttribute(std::move(b.graph))},
                  {"then_inputs", static_cast<int64_t>(a.captured.size())}});
}

Result<std::vector<int>> NativeFlow::AddLoopInputs(const graph::Graph& outer,
                                                   const onnx::GraphProto& body,
                                                   const std::vector<int>& initial,
                                                   int first_name) {
  graph::Graph& inner = builder_.graph();
  std::vector<int> values = {inner.AddInput("trip", graph::TensorType(DType::kInt64, {}))};
  for (size_t i = 0; i < initial.size(); ++i) {
    const graph::ValueType& type = outer.type(initial[i]);
    const int at = first_name + static_cast<int>(i);
    values.push_back(inner.AddInput(at < body.input_size() ? body.input(at).name() : "", type));
  }
  return values;
}

Result<std::vector<int>> NativeFlow::AddLoop(LoopParts parts) {
  std::vector<int> all = {parts.trips, parts.condition};
  all.insert(all.end(), parts.initial.begin(), parts.initial.end());
  all.insert(all.end(), parts.body.captured.begin(), parts.body.captured.end());
  const size_t outputs = parts.body.graph->outputs().size() - (parts.conditional ? 1 : 0);
  graph::Attributes attributes = {{graph::kBody, GraphAttribute(std::move(parts.body.graph))},
                                  {"carried", static_cast<int64_t>(parts.initial.size())},
                                  {"conditional", static_cast<int64_t>(parts.conditional)}};
  if (parts.max_trips >= 0) attributes["max_trips"] = parts.max_trips;
  const std::vector<int> initial = std::move(parts.initial);
  TEMPER_ASSIGN_OR_RETURN(std::vector<int> results,
                          AddNode("Loop", std::move(all), outputs, std::move(attributes)));
  if (results.empty()) return results;
  const int id = u_.graph.value(results[0]).producer;
  if (graph::ExactTrips(u_.graph, u_.graph.node(id)) != 0) return results;
  // It takes no trip.
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] =
        i < initial.size()
            ? initial[i]
            : u_.Constant("rows", graph::MakeTensor(u_.Type(results[i]), u_.Shape(results[i])));
  }
  u_.graph.RemoveNode(id);
  return results;
}

Result<LoopParts> NativeFlow::PrepareLoop(const onnx::GraphProto& body) {
  LoopParts inputs;
  inputs.trips = u_.Input(0);
  inputs.condition = u_.Input(1);
  for (size_t i = 2; i < u_.node.inputs.size(); ++i) {
    if (!u_.Has(i)) return u_.Error(fmt::format("input {} is missing", i));
    inputs.initial.push_back(u_.node.inputs[i]);
  }
  for (int value : u_.node.inputs) {
    if (value == kNone || u_.graph.type(value).IsStatic()) continue;
    return u_.Refuse(fmt::format("the shape of '{}' is not known ({})", u_.graph.value(value).name,
                                 u_.graph.type(value).ToString()));
  }
  if (inputs.trips != kNone && u_.Type(inputs.trips) != DType::kInt64) {
    if (!IsInt(u_.Type(inputs.trips))) return u_.Error("its trip count is no integer");
    TEMPER_ASSIGN_OR_RETURN(inputs.trips, u_.Emit("Cast", {inputs.trips}, "trips",
                                                  {{"to", std::string(Name(DType::kInt64))}}));
  }
  // A condition that is constant goes: a loop that does not begin takes no trip.
  graph::Shape condition_shape;
  if (inputs.condition != kNone) {
    condition_shape = u_.Shape(inputs.condition);
    if (const auto known = ConstantBool(u_.graph, inputs.condition)) {
      inputs.condition = kNone;
      const int64_t none = 0;
      if (!*known) inputs.trips = u_.Constant("trips", graph::MakeInts({}, {&none, 1}));
    }
  }
  const graph::Graph& outer = u_.graph;
  TEMPER_ASSIGN_OR_RETURN(
      inputs.body, builder_.BuildNested(NameOr(body.name(), "body"), [&]() -> Result<Outputs> {
        TEMPER_ASSIGN_OR_RETURN(std::vector<int> values,
                                AddLoopInputs(outer, body, inputs.initial, 2));
        // While the body runs its condition holds.
        const std::vector<double> holds(static_cast<size_t>(*graph::ElementCount(condition_shape)),
                                        1.0);
        values.insert(
            values.begin() + 1,
            builder_.graph().AddConstant(
                "condition", graph::MakeFromDoubles(DType::kBool, condition_shape, holds)));
        TEMPER_ASSIGN_OR_RETURN(Outputs outputs, AddBody(body, values, "body/"));
        inputs.conditional = ConstantBool(builder_.graph(), outputs[0].second) != true;
        if (!inputs.conditional) outputs.erase(outputs.begin());
        return outputs;
      }));
  const graph::Tensor* trips =
      inputs.trips == kNone ? nullptr : u_.graph.value(inputs.trips).constant.get();
  if (trips == nullptr) inputs.max_trips = builder_.MaxTrips(u_.node.name);
  return inputs;
}

Result<std::vector<int>> NativeFlow::Scan(const onnx::GraphProto& body, const ScanWalk& walk) {
  LoopParts inputs;
  inputs.trips = u_.Constant("trips", graph::MakeInts({}, {&walk.length, 1}));
  inputs.initial.assign(u_.node.inputs.begin(), u_.node.inputs.begin() + walk.carried);
  const std::vector<int> scanned(u_.node.inputs.begin() + walk.carried, u_.node.inputs.end());
  const graph::Graph& outer = u_.graph;
  TEMPER_ASSIGN_OR_RETURN(
      inputs.body, builder_.BuildNested(NameOr(body.name(), "body"), [&]() -> Result<Outputs> {
        TEMPER_ASSIGN_OR_RETURN(std::vector<int> values,
                                AddLoopInputs(outer, body, inputs.initial, 0));
        const int trip = values[0];
        values.erase(values.begin());
        SourceNode source;
        source.op = u_.node.op;
        source.name = u_.node.name;
        Upgrader u(builder_.graph(), scope_.opset, source);
        for (size_t i = 0; i < scanned.size(); ++i) {
          int at = trip;
          if (walk.in_directions[i] == 1) {
            const int64_t last = walk.length - 1;
            const int end = u.Constant("last", graph::MakeInts({}, {&last, 1}));
            TEMPER_ASSIGN_OR_RETURN(at, u.Emit("Sub", {end, trip}, "at"));
          }
          TEMPER_ASSIGN_OR_RETURN(const int row,
                                  u.Emit("Gather", {builder_.Capture(scanned[i]), at}, "row",
                                         {{"axis", Attribute(walk.in_axes[i])}}));
          values.push_back(row);
        }
        return AddBody(body, values, "body/");
      }));
  TEMPER_ASSIGN_OR_RETURN(std::vector<int> results, AddLoop(std::move(inputs)));
  for (size_t i = 0; i < walk.out_axes.size(); ++i) {
    int& rows = results[static_cast<size_t>(walk.carried) + i];
    const auto rank = static_cast<int64_t>(u_.Shape(rows).size());
    if (walk.out_directions[i] == 1) {
      TEMPER_ASSIGN_OR_RETURN(rows,
                              u_.Emit("Slice",
                                      {rows, u_.Ints("starts", {-1}), u_.Ints("ends", {INT64_MIN}),
                                       u_.Ints("axes", {0}), u_.Ints("steps", {-1})},
                                      "reversed"));
    }
    const int64_t axis = walk.out_axes[i] < 0 ? walk.out_axes[i] + rank : walk.out_axes[i];
    if (axis < 0 || axis >= rank) return u_.Error("an axis of scan_output_axes does not exist");
    if (axis == 0) continue;
    std::vector<int64_t> perm(static_cast<size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + axis + 1);
    TEMPER_ASSIGN_OR_RETURN(rows, u_.Emit("Transpose", {rows}, "stacked", {{"perm", perm}}));
  }
  return results;
}

}  // namespace temper::importer
