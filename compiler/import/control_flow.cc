#include "compiler/import/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/import/attributes.h"
#include "compiler/import/native_flow.h"
#include "compiler/import/upgrader.h"

namespace temper::importer {
namespace {

using graph::Attribute;
using graph::kNone;

// A loop of more is not written out.
constexpr int64_t kMaxTrips = 1 << 14;
// A kernel reads a bounded number of tensors.
constexpr size_t kConcatOperands = 32;

class ControlFlow {
 public:
  ControlFlow(GraphBuilder& builder, const onnx::NodeProto& proto, SourceNode& source,
              const Scope& scope)
      : builder_(builder),
        proto_(proto),
        u_(builder.graph(), scope.opset, source),
        scope_(scope),
        native_(builder, u_, scope) {}

  Result<std::vector<int>> If() {
    const onnx::GraphProto *yes = Body("then_branch"), *no = Body("else_branch");
    if (yes == nullptr || no == nullptr) return u_.Error("it needs two branches");
    if (!u_.Has(0)) return u_.Error("it needs a condition");
    if (const std::optional<bool> known = ConstantBool(u_.Input(0))) {
      return AddBody(*known ? *yes : *no, {}, *known ? "then/" : "else/");
    }
    return native_.If(*yes, *no);
  }

  Result<std::vector<int>> Loop() {
    const onnx::GraphProto* body = Body("body");
    if (body == nullptr) return u_.Error("it has no body");
    const size_t inputs = u_.node.inputs.size();
    const size_t carried = inputs > 2 ? inputs - 2 : 0;
    if (body->output_size() < static_cast<int>(carried) + 1) {
      return u_.Error("its body has too few outputs");
    }
    for (size_t i = 2; i < inputs; ++i) {
      if (!u_.Has(i)) return u_.Error(fmt::format("input {} is missing", i));
    }
    int64_t trips = -1;  // only known at run time
    if (const graph::Tensor* count = u_.Has(0) ? Constant(u_.Input(0)) : nullptr) {
      if (count->size() != 1 || !IsInt(count->dtype))
        return u_.Error("its trip count is no integer");
      trips = std::max<int64_t>(0, count->IntAt(0));
    }
    const auto begins = u_.Has(1) ? ConstantBool(u_.Input(1)) : true;
    if (begins == false) trips = 0;
    // A small loop is written out, so that its kernels can be fused over its trips, and one that
    // cannot be a loop too: where a shape follows from the number of the trip, or changes.
    const GraphBuilder::Count before = builder_.count();
    auto parts = native_.PrepareLoop(*body);
    Status why = parts.status();
    if (parts.ok() && (parts->conditional || begins != true || !IsSmall(*body, trips))) {
      auto loop = native_.AddLoop(*std::move(parts));
      if (loop.ok() || loop.status().code() == Code::kResourceExhausted) return loop;
      why = loop.status();
    }
    // Without a trip count, conditions that are constant once they are written out may end it.
    const bool counted = trips > 0 || (trips < 0 && !u_.Has(0) && begins == true);
    builder_.Forget(before);
    if (why.ok() || (counted && trips <= kMaxTrips)) {
      const int first = u_.graph.node_limit();
      auto written = Unrolled(*body, carried, trips);
      if (written.ok() || why.ok()) return written;
      DropNodes(first);
      builder_.Forget(before);
    }
    const int first = u_.graph.node_limit();
    auto varying = native_.VaryingLoop(*body);
    if (varying.ok()) return varying;
    DropNodes(first);
    const Code code = varying.status().code();
    if (code == Code::kNotFound || (trips >= 0 && code != Code::kResourceExhausted)) return why;
    return varying;
  }

  // Removes nodes that an attempt left behind.
  void DropNodes(int first) {
    for (int id = u_.graph.node_limit(); id-- > first;) {
      if (u_.graph.IsAlive(id)) u_.graph.RemoveNode(id);
    }
  }

  Result<std::vector<int>> Unrolled(const onnx::GraphProto& body, size_t carried, int64_t trips) {
    int alive = u_.Input(1);  // kNone: true
    const size_t scans = static_cast<size_t>(body.output_size()) - 1 - carried;
    std::vector<int> state(u_.node.inputs.end() - static_cast<std::ptrdiff_t>(carried),
                           u_.node.inputs.end());
    std::vector<std::vector<int>> rows(scans);
    for (int64_t trip = 0; trips < 0 || trip < trips; ++trip) {
      const std::optional<bool> go = alive == kNone ? true : ConstantBool(alive);
      if (go && !*go) break;
      if (trips < 0 && (!go || trip >= kMaxTrips)) {
        return u_.Refuse("its trips cannot be counted before the run");
      }
      if (!go && scans > 0) {
        return u_.Refuse(
            "how many rows its outputs have depends on a condition that is only known at run time");
      }
      const int condition = go ? Bool(true) : alive;
      std::vector<int> arguments = {u_.Constant("trip", graph::MakeInts({}, {&trip, 1})),
                                    condition};
      arguments.insert(arguments.end(), state.begin(), state.end());
      TEMPER_ASSIGN_OR_RETURN(const std::vector<int> out,
                              AddBody(body, arguments, fmt::format("[{}]/", trip)));
      int next = out[0];
      for (size_t i = 0; i < carried; ++i) {
        if (go) {
          state[i] = out[1 + i];
          continue;
        }
        TEMPER_ASSIGN_OR_RETURN(const int gate, Scalar(alive, "alive"));
        TEMPER_ASSIGN_OR_RETURN(
            state[i], Choose(gate, out[1 + i], state[i], Name("carried"), "what it carries"));
      }
      if (!go) {
        TEMPER_ASSIGN_OR_RETURN(next, u_.Emit("And", {alive, next}, "alive"));
      }
      alive = next;
      for (size_t i = 0; i < scans; ++i) rows[i].push_back(out[1 + carried + i]);
    }
    for (size_t i = 0; i < scans; ++i) {
      TEMPER_ASSIGN_OR_RETURN(const int stacked, Stack(rows[i], 0, carried + i));
      state.push_back(stacked);
    }
    return state;
  }

  Result<std::vector<int>> Scan() {
    if (scope_.opset < 9) return ScanOfBatches();
    const onnx::GraphProto* body = Body("body");
    if (body == nullptr) return u_.Error("it has no body");
    return Scan(*body);
  }

  Result<std::vector<int>> Scan(const onnx::GraphProto& body) {
    ScanWalk walk;
    TEMPER_RETURN_IF_ERROR(u_.RequireStatic(u_.node.inputs.size()));
    const int64_t scanned = u_.Take<int64_t>("num_scan_inputs").value_or(0);
    const auto inputs = static_cast<int64_t>(u_.node.inputs.size());
    if (scanned < 1 || scanned > inputs) return u_.Error("num_scan_inputs is wrong");
    walk.carried = inputs - scanned;
    if (body.output_size() < walk.carried) return u_.Error("its body has too few outputs");
    const auto rows = static_cast<size_t>(body.output_size() - walk.carried);
    walk.in_axes = List("scan_input_axes", static_cast<size_t>(scanned));
    walk.in_directions = List("scan_input_directions", static_cast<size_t>(scanned));
    walk.out_axes = List("scan_output_axes", rows);
    walk.out_directions = List("scan_output_directions", rows);
    walk.length = -1;
    for (int64_t i = 0; i < scanned; ++i) {
      const graph::Shape shape = u_.Shape(u_.node.inputs[walk.carried + i]);
      const auto rank = static_cast<int64_t>(shape.size());
      int64_t& axis = walk.in_axes[i];
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) return u_.Error("an axis of scan_input_axes does not exist");
      if (walk.length >= 0 && walk.length != shape[axis]) {
        return u_.Error("its scanned inputs differ in length");
      }
      walk.length = shape[axis];
    }
    if (IsSmall(body, walk.length)) return Unrolled(body, walk);
    auto loop = native_.Scan(body, walk);
    if (loop.ok() || walk.length == 0 || walk.length > kMaxTrips) return loop;
    auto written = Unrolled(body, walk);
    return written.ok() ? written : loop;
  }

  Result<std::vector<int>> Unrolled(const onnx::GraphProto& body, const ScanWalk& walk) {
    std::vector<int> state(u_.node.inputs.begin(), u_.node.inputs.begin() + walk.carried);
    std::vector<std::vector<int>> rows(walk.out_axes.size());
    for (int64_t trip = 0; trip < walk.length; ++trip) {
      std::vector<int> arguments = state;
      for (size_t i = 0; i < walk.in_axes.size(); ++i) {
        const int64_t at = walk.in_directions[i] == 1 ? walk.length - 1 - trip : trip;
        TEMPER_ASSIGN_OR_RETURN(const int row,
                                Row(u_.node.inputs[walk.carried + i], at, walk.in_axes[i]));
        arguments.push_back(row);
      }
      TEMPER_ASSIGN_OR_RETURN(const std::vector<int> out,
                              AddBody(body, arguments, fmt::format("[{}]/", trip)));
      std::copy(out.begin(), out.begin() + walk.carried, state.begin());
      for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(out[walk.carried + i]);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      if (walk.out_directions[i] == 1) std::reverse(rows[i].begin(), rows[i].end());
      TEMPER_ASSIGN_OR_RETURN(const int stacked,
                              Stack(rows[i], walk.out_axes[i], walk.carried + i));
      state.push_back(stacked);
    }
    return state;
  }

  // Opset 8: a batch in front of every operand, each of its members scanned by itself, after an
  // input for the lengths of the sequences.
  Result<std::vector<int>> ScanOfBatches() {
    const onnx::GraphProto* body = Body("body");
    if (body == nullptr) return u_.Error("it has no body");
    if (u_.Has(0)) return u_.Refuse("lengths of sequences are not supported");
    if (u_.node.inputs.size() < 2) return u_.Error("it has no operands");
    const std::vector<int> operands(u_.node.inputs.begin() + 1, u_.node.inputs.end());
    int64_t batch = -1;
    for (int operand : operands) {
      if (operand == kNone || !u_.graph.type(operand).IsStatic()) {
        return u_.Refuse("the shape of an operand is not known");
      }
      const graph::Shape shape = u_.Shape(operand);
      if (shape.empty() || (batch >= 0 && shape[0] != batch)) {
        return u_.Error("its operands differ in the size of the batch");
      }
      batch = shape[0];
    }
    if (batch > kMaxTrips) return u_.Refuse("its batch is too large");
    const graph::Attributes attributes = u_.node.attributes;
    std::vector<std::vector<int>> members(static_cast<size_t>(body->output_size()));
    for (int64_t b = 0; b < batch; ++b) {
      u_.node.attributes = attributes;
      if (auto directions = u_.Take<std::vector<int64_t>>("directions")) {
        u_.node.attributes["scan_input_directions"] = *directions;
      }
      u_.node.inputs.clear();
      for (int operand : operands) {
        TEMPER_ASSIGN_OR_RETURN(const int member, Row(operand, b, 0));
        u_.node.inputs.push_back(member);
      }
      TEMPER_ASSIGN_OR_RETURN(const std::vector<int> results, Scan(*body));
      for (size_t i = 0; i < results.size(); ++i) members[i].push_back(results[i]);
    }
    std::vector<int> outputs;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!members[i].empty() && members[i][0] == kNone) {  // nothing reads it
        outputs.push_back(kNone);
        continue;
      }
      TEMPER_ASSIGN_OR_RETURN(const int stacked, Stack(members[i], 0, i));
      outputs.push_back(stacked);
    }
    return outputs;
  }

 private:
  bool IsSmall(const onnx::GraphProto& body, int64_t trips) const {
    return trips > 0 && trips <= builder_.flow().unroll / std::max<int64_t>(1, CountNodes(body));
  }

  static int64_t CountNodes(const onnx::GraphProto& body) {
    int64_t nodes = body.node_size();
    for (const onnx::NodeProto& node : body.node()) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) nodes += CountNodes(attribute.g());
      }
    }
    return nodes;
  }

  const onnx::GraphProto* Body(const std::string& name) const {
    for (const onnx::AttributeProto& attribute : proto_.attribute()) {
      if (attribute.name() == name && attribute.has_g()) return &attribute.g();
    }
    return nullptr;
  }

  const graph::Tensor* Constant(int value) const { return u_.graph.value(value).constant.get(); }
  std::optional<bool> ConstantBool(int value) const {
    const graph::Tensor* tensor = Constant(value);
    if (tensor == nullptr || tensor->size() != 1) return std::nullopt;
    return tensor->DoubleAt(0) != 0;
  }
  bool Varies(int value) const { return builder_.FindVarying(value) != nullptr; }
  int Bool(bool value) { return u_.Number("condition", DType::kBool, value ? 1 : 0); }
  std::string Name(const std::string& what) const { return u_.node.name + "/" + what; }

  Result<std::vector<int>> AddBody(const onnx::GraphProto& body, const std::vector<int>& inputs,
                                   const std::string& part) {
    auto results = builder_.AddBody(body, inputs, scope_, u_.node.name + "/" + part);
    if (!results.ok() && results.status().message().find('\'') == std::string::npos) {
      return results.status().WithContext(fmt::format("{} '{}'", u_.node.op, u_.node.name));
    }
    return results;
  }

  // A value of one element without dimensions, so that it does not widen what it selects.
  Result<int> Scalar(int value, const std::string& what) {
    if (Varies(value) || !u_.graph.type(value).IsStatic())
      return u_.Refuse("the shape of a condition is not known");
    if (u_.Shape(value).empty()) return value;
    if (graph::ElementCount(u_.Shape(value)) != 1) return u_.Error("its condition is no scalar");
    return u_.Emit("Reshape", {value, u_.Ints("scalar", {})}, what);
  }

  Result<int> Choose(int condition, int a, int b, const std::string& name,
                     const std::string& what) {
    const graph::ValueType &first = u_.graph.type(a), &second = u_.graph.type(b);
    if (Varies(a) || Varies(b) || !first.IsStatic() || !second.IsStatic() || !(first == second)) {
      return u_.Refuse(
          fmt::format("{} differ in type ({} and {}), which is not supported where the "
                      "condition is only known at run time",
                      what, first.ToString(), second.ToString()));
    }
    return u_.Emit("Where", {condition, a, b}, std::vector<std::string>{name});
  }

  // Position `at` of a value along `axis`, which goes.
  Result<int> Row(int value, int64_t at, int64_t axis) {
    return u_.Emit("Gather", {value, u_.Constant("at", graph::MakeInts({}, {&at, 1}))}, "row",
                   {{"axis", Attribute(axis)}});
  }

  // An attribute of `size` ints; zeros where it is absent.
  std::vector<int64_t> List(const std::string& name, size_t size) {
    auto values = u_.Take<std::vector<int64_t>>(name).value_or(std::vector<int64_t>());
    values.resize(size, 0);
    return values;
  }

  // The values side by side along a new dimension `axis`, in groups that kernels can hold.
  Result<int> Stack(const std::vector<int>& rows, int64_t axis, size_t output) {
    if (rows.empty()) return u_.Refuse("it takes no trip, so that an output has no rows");
    std::vector<int> parts;
    for (int row : rows) {
      if (Varies(row) || !u_.graph.type(row).IsStatic() ||
          !(u_.graph.type(row) == u_.graph.type(rows[0]))) {
        return u_.Refuse("the rows of an output differ in type");
      }
      TEMPER_ASSIGN_OR_RETURN(const int part,
                              u_.Emit("Unsqueeze", {row, u_.Ints("axes", {axis})}, "row"));
      parts.push_back(part);
    }
    while (true) {
      std::vector<int> joined;
      const bool last = parts.size() <= kConcatOperands;
      for (size_t i = 0; i < parts.size(); i += kConcatOperands) {
        const size_t end = std::min(parts.size(), i + kConcatOperands);
        TEMPER_ASSIGN_OR_RETURN(
            const int part,
            u_.Emit("Concat",
                    {parts.begin() + static_cast<std::ptrdiff_t>(i),
                     parts.begin() + static_cast<std::ptrdiff_t>(end)},
                    std::vector<std::string>{last ? u_.OutputName(output) : Name("rows")},
                    {{"axis", Attribute(axis)}}));
        joined.push_back(part);
      }
      parts = std::move(joined);
      if (last) return parts[0];
    }
  }

  GraphBuilder& builder_;
  const onnx::NodeProto& proto_;
  Upgrader u_;
  const Scope& scope_;
  NativeFlow native_;
};

}  // namespace

bool IsControlFlow(std::string_view op) { return op == "If" || op == "Loop" || op == "Scan"; }

Result<std::vector<int>> AddControlFlow(GraphBuilder& builder, const onnx::NodeProto& node,
                                        const std::string& name, const std::vector<int>& inputs,
                                        const std::unordered_set<std::string>& read,
                                        const Scope& scope) {
  SourceNode source;
  source.op = node.op_type();
  source.name = name;
  source.inputs = inputs;
  source.outputs.assign(node.output().begin(), node.output().end());
  for (const std::string& output : node.output()) {
    source.used.push_back(!output.empty() && read.count(output) != 0);
  }
  auto attributes = ReadAttributes(node, builder.reader(), scope.arguments);
  if (!attributes.ok()) {
    return attributes.status().WithContext(fmt::format("{} '{}'", node.op_type(), name));
  }
  source.attributes = std::move(attributes).value();
  ControlFlow flow(builder, node, source, scope);
  if (node.op_type() == "If") return flow.If();
  return node.op_type() == "Loop" ? flow.Loop() : flow.Scan();
}

}  // namespace temper::importer
