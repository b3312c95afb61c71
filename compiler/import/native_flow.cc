#include "compiler/import/native_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"
#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"
#include "compiler/import/merge.h"
#include "compiler/import/switch_tree.h"
#include "compiler/import/varying_loop.h"

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
                                             std::vector<std::string> outputs,
                                             graph::Attributes attributes) {
  if (outputs.empty()) return std::vector<int>();  // it does nothing
  const int id = u_.graph.AddNode(op, std::move(inputs), std::move(outputs), std::move(attributes),
                                  {u_.node.name});
  const Status inferred = graph::InferNode(u_.graph, id);
  if (!inferred.ok()) {
    u_.graph.RemoveNode(id);
    return inferred;
  }
  return u_.graph.node(id).outputs;
}

bool NativeFlow::MayBeOpen(size_t i) const {
  return scope_.IsMain() && scope_.read != nullptr && scope_.read->count(u_.OutputName(i)) == 0;
}

Result<std::vector<int>> NativeFlow::If(const onnx::GraphProto& yes, const onnx::GraphProto& no) {
  if (!u_.graph.type(u_.Input(0)).IsStatic()) {
    return u_.Refuse("the shape of a condition is not known");
  }
  if (yes.output_size() != no.output_size()) {
    return u_.Error("its branches have different numbers of outputs");
  }
  SwitchTree tree =
      SwitchTree::ByCondition(builder_, u_.Input(0), u_.node.name, NameOr(yes.name(), "branch"),
                              NameOr(no.name(), "branch"));
  std::vector<std::vector<int>> values;
  for (const auto& [body, part] : {std::pair(&yes, "then/"), std::pair(&no, "else/")}) {
    // What asks for the same condition inside knows it.
    const bool of_one = graph::ElementCount(u_.Shape(u_.Input(0))) == 1;
    Region& leaf = tree.leaf(static_cast<int>(values.size()));
    Region* around = builder_.Enter(&leaf);
    leaf.views_of = around;
    if (of_one)
      leaf.views[u_.Input(0)] = {FormOf(*around->graph, u_.Input(0), body == &yes), kNone};
    auto outputs = AddBody(*body, {}, part);
    builder_.Enter(around);
    if (!outputs.ok()) return outputs.status();
    std::vector<int>& of_branch = values.emplace_back();
    for (const auto& [name, value] : *outputs) of_branch.push_back(value);
  }
  std::vector<Live> live;
  std::vector<size_t> from;
  for (size_t i = 0; i < values[0].size(); ++i) {
    if (!u_.Used(i)) continue;
    live.push_back({u_.OutputName(i), {values[0][i], values[1][i]}, MayBeOpen(i)});
    from.push_back(i);
  }
  Merger merger(builder_, tree, u_.node.name, fmt::format("If '{}'", EscapeControl(u_.node.name)));
  if (graph::ElementCount(u_.Shape(u_.Input(0))) == 1) {
    merger.Know(u_.Input(0), {Truth::kTrue, Truth::kFalse});
  }
  TEMPER_ASSIGN_OR_RETURN(const std::vector<int> merged, merger.Merge(live));
  std::vector<int> results(values[0].size(), kNone);
  for (size_t k = 0; k < from.size(); ++k) results[from[k]] = merged[k];
  return results;
}

Result<std::vector<int>> NativeFlow::AddLoopInputs(const graph::Graph& outer,
                                                   const onnx::GraphProto& body,
                                                   const std::vector<int>& initial,
                                                   const std::vector<size_t>& which,
                                                   int first_name) {
  graph::Graph& inner = builder_.graph();
  std::vector<int> values = {inner.AddInput("trip", graph::TensorType(DType::kInt64, {}))};
  for (size_t i = 0; i < initial.size(); ++i) {
    const graph::ValueType& type = outer.type(initial[i]);
    const int at = first_name + static_cast<int>(which[i]);
    values.push_back(inner.AddInput(at < body.input_size() ? body.input(at).name() : "", type));
  }
  return values;
}

Result<std::vector<int>> NativeFlow::AddLoop(LoopParts parts) {
  // The number of trips comes between the carried values and the rows.
  const size_t carried = parts.initial.size(), counted = carried + (parts.counts ? 1 : 0);
  std::vector<int> all = {parts.trips, parts.condition};
  all.insert(all.end(), parts.initial.begin(), parts.initial.end());
  all.insert(all.end(), parts.body.captured.begin(), parts.body.captured.end());
  graph::Attributes attributes = {{graph::kBody, GraphAttribute(std::move(parts.body.graph))},
                                  {"carried", static_cast<int64_t>(carried)},
                                  {"conditional", static_cast<int64_t>(parts.conditional)},
                                  {"counts", static_cast<int64_t>(parts.counts)}};
  if (parts.max_trips >= 0) attributes["max_trips"] = parts.max_trips;
  // Rows that nodes read: one shape for each number of trips.
  const int64_t most = parts.counts ? parts.MostTrips(u_.graph) : -1;
  std::vector<std::string> names;
  for (size_t i : parts.carried) names.push_back(u_.OutputName(i));
  if (parts.counts) names.push_back(u_.node.name + "/count");
  std::vector<int64_t> room(counted, -1);
  for (size_t r = 0; r < parts.rows.size(); ++r) {
    names.push_back(u_.OutputName(parts.rows[r]));
    room.push_back(-1);
    if (most < 0 || MayBeOpen(parts.rows[r]) || !parts.row_types[r].IsStatic()) continue;
    if (most >= kMaxVariants) {
      return ResourceExhausted(fmt::format(
          "Loop '{}': its output '{}' has a row for each trip, of up to {}, and nodes read it, "
          "which are compiled for each number of rows; at most {} are possible: state the most "
          "trips with --max-trips '{}=N'",
          u_.node.name, names.back(), most, kMaxVariants - 1, u_.node.name));
    }
    const int64_t elements = graph::ElementCount(parts.row_types[r].StaticShape()).value_or(0);
    if (elements > 0 && most > std::numeric_limits<int64_t>::max() / elements) {
      return u_.Refuse("its rows are too large");
    }
    room.back() = most * elements;
  }
  if (std::any_of(room.begin(), room.end(), [](int64_t n) { return n >= 0; })) {
    attributes[graph::kRoom] = room;
  }
  const std::vector<int> initial = std::move(parts.initial);
  std::vector<int> results = std::move(parts.given);  // where a trip leaves them as they were
  results.resize(results.size() + parts.row_outputs, kNone);
  TEMPER_ASSIGN_OR_RETURN(std::vector<int> values,
                          AddNode("Loop", std::move(all), std::move(names), std::move(attributes)));
  if (values.empty()) return results;
  const int id = u_.graph.value(values[0]).producer;
  const bool none = graph::ExactTrips(u_.graph, u_.graph.node(id)) == 0;
  for (size_t i = 0; i < carried; ++i) results[parts.carried[i]] = none ? initial[i] : values[i];
  for (size_t r = 0; r < parts.rows.size(); ++r) {
    const int value = values[counted + r];
    results[parts.rows[r]] =
        none ? u_.Constant("rows", graph::MakeTensor(u_.Type(value), u_.Shape(value))) : value;
    if (room[counted + r] < 0) continue;
    if (most == 0) {  // there are never any
      graph::Shape shape = parts.row_types[r].StaticShape();
      shape.insert(shape.begin(), 0);
      results[parts.rows[r]] = u_.Constant("rows", graph::MakeTensor(u_.Type(value), shape));
      continue;
    }
    Varying& varying = builder_.region()->varying[value];
    varying.family = values[carried];
    for (int64_t n = 0; n <= most; ++n) {
      Form& form = varying.forms.emplace_back();
      form.type = parts.row_types[r];
      form.type.dims.insert(form.type.dims.begin(), graph::Dim(n));
    }
  }
  if (none) u_.graph.RemoveNode(id);
  return results;
}

Result<LoopParts> NativeFlow::LoopOperands() {
  LoopParts inputs;
  inputs.trips = u_.Input(0);
  inputs.condition = u_.Input(1);
  for (size_t i = 2; i < u_.node.inputs.size(); ++i) {
    if (!u_.Has(i)) return u_.Error(fmt::format("input {} is missing", i));
    inputs.given.push_back(u_.node.inputs[i]);
  }
  inputs.initial = inputs.given;
  for (int value : u_.node.inputs) {
    if (value == kNone || u_.graph.type(value).IsStatic()) continue;
    return u_.Refuse(fmt::format("the shape of '{}' is not known ({})", u_.graph.value(value).name,
                                 u_.graph.type(value).ToString()));
  }
  if (inputs.trips != kNone && graph::ElementCount(u_.Shape(inputs.trips)) != 1) {
    return u_.Error("its trip count is no scalar");
  }
  if (inputs.condition != kNone && graph::ElementCount(u_.Shape(inputs.condition)) != 1) {
    return u_.Error("its condition is no scalar");
  }
  if (inputs.trips != kNone && u_.Type(inputs.trips) != DType::kInt64) {
    if (!IsInt(u_.Type(inputs.trips))) return u_.Error("its trip count is no integer");
    TEMPER_ASSIGN_OR_RETURN(inputs.trips, u_.Emit("Cast", {inputs.trips}, "trips",
                                                  {{"to", std::string(Name(DType::kInt64))}}));
  }
  // A condition that is constant goes: a loop that does not begin takes no trip.
  if (inputs.condition != kNone) {
    inputs.condition_shape = u_.Shape(inputs.condition);
    if (const auto known = ConstantBool(u_.graph, inputs.condition)) {
      inputs.condition = kNone;
      const int64_t none = 0;
      if (!*known) inputs.trips = u_.Constant("trips", graph::MakeInts({}, {&none, 1}));
    }
  }
  const graph::Tensor* trips =
      inputs.trips == kNone ? nullptr : u_.graph.value(inputs.trips).constant.get();
  if (trips == nullptr) inputs.max_trips = builder_.MaxTrips(u_.node.name);
  return inputs;
}

int64_t LoopParts::MostTrips(const graph::Graph& graph) const {
  if (trips == kNone || graph.value(trips).constant == nullptr) return max_trips;
  const graph::Tensor& count = *graph.value(trips).constant;
  return count.size() == 1 ? std::max<int64_t>(0, count.IntAt(0)) : max_trips;
}

bool LoopParts::IsExact(const graph::Graph& graph) const {
  return trips != kNone && graph.value(trips).IsConstant() && condition == kNone && !conditional;
}

int NativeFlow::Holds(const LoopParts& parts) {
  const std::vector<double> holds(static_cast<size_t>(*graph::ElementCount(parts.condition_shape)),
                                  1.0);
  return builder_.graph().AddConstant(
      "condition", graph::MakeFromDoubles(DType::kBool, parts.condition_shape, holds));
}

Status NativeFlow::CheckOfOneShape(const Outputs& outputs) {
  for (const auto& [name, value] : outputs) {
    const Varying* varying = builder_.FindVarying(value);
    if (varying == nullptr) continue;
    return u_.Refuse(fmt::format("'{}' of its body is of several shapes ({})", EscapeControl(name),
                                 ListForms(varying->forms)));
  }
  return OkStatus();
}

Result<std::vector<int>> NativeFlow::VaryingLoop(const onnx::GraphProto& body) {
  return VaryingLoopBuilder(*this, body).Run();
}

std::vector<bool> NativeFlow::NeedsCarried(const LoopParts& parts) const {
  const graph::Graph& body = *parts.body.graph;
  const size_t first = parts.conditional ? 1 : 0, count = parts.initial.size();
  std::vector<bool> changes(count), needs(count, false);
  std::vector<int> stack;  // values that are needed
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const int output = body.outputs()[i];
    if (i < first || i >= first + count) {
      stack.push_back(output);
      continue;
    }
    int value = output;
    for (const graph::Node* node = body.ProducerOf(value); node != nullptr && node->Is("Identity");
         node = body.ProducerOf(value)) {
      value = node->inputs[0];
    }
    changes[i - first] = value != body.inputs()[1 + i - first];
    if (!changes[i - first] || !u_.Used(i - first)) continue;
    needs[i - first] = true;
    stack.push_back(output);
  }
  std::vector<bool> seen(static_cast<size_t>(body.value_count()), false);
  while (!stack.empty()) {
    const int value = stack.back();
    stack.pop_back();
    if (value == kNone || seen[static_cast<size_t>(value)]) continue;
    seen[static_cast<size_t>(value)] = true;
    if (const graph::Node* node = body.ProducerOf(value)) {
      stack.insert(stack.end(), node->inputs.begin(), node->inputs.end());
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      if (body.inputs()[1 + i] != value || !changes[i]) continue;
      needs[i] = true;
      stack.push_back(body.outputs()[first + i]);
    }
  }
  return needs;
}

Result<LoopParts> NativeFlow::PrepareLoop(const onnx::GraphProto& body) {
  const size_t carried = u_.node.inputs.size() > 2 ? u_.node.inputs.size() - 2 : 0;
  const GraphBuilder::Count before = builder_.count();
  TEMPER_ASSIGN_OR_RETURN(LoopParts parts, PrepareLoop(body, std::vector<bool>(carried, true)));
  const std::vector<bool> needs = NeedsCarried(parts);
  if (std::find(needs.begin(), needs.end(), false) == needs.end()) return parts;
  builder_.Forget(before);
  return PrepareLoop(body, needs);
}

Result<LoopParts> NativeFlow::PrepareLoop(const onnx::GraphProto& body,
                                          const std::vector<bool>& keep) {
  TEMPER_ASSIGN_OR_RETURN(LoopParts inputs, LoopOperands());
  const graph::Graph& outer = u_.graph;
  const size_t carried = inputs.given.size();
  inputs.initial.clear();
  for (size_t i = 0; i < carried; ++i) {
    if (!keep[i]) continue;
    inputs.carried.push_back(i);
    inputs.initial.push_back(inputs.given[i]);
  }
  TEMPER_ASSIGN_OR_RETURN(
      inputs.body, builder_.BuildNested(NameOr(body.name(), "body"), [&]() -> Result<Outputs> {
        TEMPER_ASSIGN_OR_RETURN(std::vector<int> values,
                                AddLoopInputs(outer, body, inputs.initial, inputs.carried, 2));
        graph::Graph& inner = builder_.graph();
        for (size_t i = 0; i < carried; ++i) {
          if (!keep[i]) {
            values.insert(values.begin() + 1 + static_cast<std::ptrdiff_t>(i),
                          builder_.Capture(inputs.given[i]));
          }
        }
        // While the body runs its condition holds.
        values.insert(values.begin() + 1, Holds(inputs));
        TEMPER_ASSIGN_OR_RETURN(Outputs outputs, AddBody(body, values, "body/"));
        TEMPER_RETURN_IF_ERROR(CheckOfOneShape(outputs));
        inputs.conditional = ConstantBool(inner, outputs[0].second) != true;
        inputs.row_outputs = outputs.size() - 1 - carried;
        Outputs kept(outputs.begin(), outputs.begin() + (inputs.conditional ? 1 : 0));
        for (size_t i : inputs.carried) kept.push_back(outputs[1 + i]);
        for (size_t i = carried; i + 1 < outputs.size(); ++i) {
          if (!u_.Used(i)) continue;
          inputs.rows.push_back(i);
          inputs.row_types.push_back(inner.type(outputs[i + 1].second));
          inputs.counts = inputs.counts || !MayBeOpen(i);
        }
        inputs.counts = inputs.counts && !inputs.IsExact(outer) && inputs.MostTrips(outer) >= 0;
        for (size_t i : inputs.rows) kept.push_back(outputs[i + 1]);
        return kept;
      }));
  return inputs;
}

Result<std::vector<int>> NativeFlow::Scan(const onnx::GraphProto& body, const ScanWalk& walk) {
  LoopParts inputs;
  inputs.trips = u_.Constant("trips", graph::MakeInts({}, {&walk.length, 1}));
  inputs.initial.assign(u_.node.inputs.begin(), u_.node.inputs.begin() + walk.carried);
  inputs.given = inputs.initial;
  inputs.carried.resize(inputs.initial.size());
  std::iota(inputs.carried.begin(), inputs.carried.end(), size_t{0});
  const std::vector<int> scanned(u_.node.inputs.begin() + walk.carried, u_.node.inputs.end());
  const graph::Graph& outer = u_.graph;
  TEMPER_ASSIGN_OR_RETURN(
      inputs.body, builder_.BuildNested(NameOr(body.name(), "body"), [&]() -> Result<Outputs> {
        TEMPER_ASSIGN_OR_RETURN(std::vector<int> values,
                                AddLoopInputs(outer, body, inputs.initial, inputs.carried, 0));
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
        TEMPER_ASSIGN_OR_RETURN(Outputs outputs, AddBody(body, values, "body/"));
        TEMPER_RETURN_IF_ERROR(CheckOfOneShape(outputs));
        const auto carried = static_cast<size_t>(walk.carried);
        Outputs kept(outputs.begin(), outputs.begin() + walk.carried);
        inputs.row_outputs = outputs.size() - carried;
        for (size_t i = carried; i < outputs.size(); ++i) {
          if (!u_.Used(i)) continue;
          inputs.rows.push_back(i);
          inputs.row_types.push_back(builder_.graph().type(outputs[i].second));
          kept.push_back(outputs[i]);
        }
        return kept;
      }));
  TEMPER_ASSIGN_OR_RETURN(std::vector<int> results, AddLoop(std::move(inputs)));
  for (size_t i = 0; i < walk.out_axes.size(); ++i) {
    if (results[static_cast<size_t>(walk.carried) + i] == kNone) continue;
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
