#include "compiler/import/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "compiler/graph/control_flow.h"
#include "compiler/graph/infer/infer.h"
#include "compiler/graph/op_list.h"
#include "compiler/import/attribute_list.h"
#include "compiler/import/attributes.h"
#include "compiler/import/control_flow.h"
#include "compiler/import/open_extents.h"
#include "compiler/import/segment.h"

namespace temper::importer {

using graph::kNone;

namespace {

constexpr int kNamesShown = 3;  // of nodes with an unknown operator

bool IsOnnx(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string Domain(const std::string& domain) { return IsOnnx(domain) ? "" : domain; }

}  // namespace

int Scope::Find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto at = scope->values.find(name);
    if (at != scope->values.end()) return at->second;
  }
  return kNone;
}

const Sequence* Scope::FindSequence(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (scope->values.count(name) != 0) return nullptr;
    const auto at = scope->sequences.find(name);
    if (at != scope->sequences.end()) return &at->second;
  }
  return nullptr;
}

int OpsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
            int absent) {
  for (const onnx::OperatorSetIdProto& import : imports) {
    if (!IsOnnx(import.domain())) continue;
    return static_cast<int>(std::clamp<int64_t>(import.version(), 0, 1 << 20));
  }
  return absent;
}

GraphBuilder::GraphBuilder(const onnx::ModelProto& model, TensorReader& reader, graph::Graph& graph,
                           const FlowOptions& flow)
    : reader_(reader), flow_(flow) {
  main_.graph = &graph;
  for (const onnx::FunctionProto& function : model.functions()) {
    functions_.emplace(FunctionKey(Domain(function.domain()), function.name(), function.overload()),
                       &function);
  }
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    domain_versions_[Domain(import.domain())] = import.version();
  }
}

const onnx::FunctionProto* GraphBuilder::FindFunction(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto at =
      functions_.find(FunctionKey(Domain(node.domain()), node.op_type(), node.overload()));
  return at == functions_.end() ? nullptr : at->second;
}

void GraphBuilder::CollectUnknown(const NodeList& nodes,
                                  std::map<std::string, std::pair<int, std::string>>& unknown,
                                  std::unordered_set<const onnx::FunctionProto*>& seen,
                                  std::vector<const onnx::FunctionProto*>& called) const {
  for (int n = 0; n < nodes.size(); ++n) {
    const onnx::NodeProto& node = nodes.Get(n);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectUnknown(attribute.g().node(), unknown, seen, called);
    }
    if (const onnx::FunctionProto* function = FindFunction(node)) {
      if (seen.insert(function).second) called.push_back(function);
      continue;
    }
    const std::string domain = Domain(node.domain());
    const std::string& op = node.op_type();
    if (graph::FindOp(domain, op) != nullptr) continue;
    if (graph::FindOutsideOp(main_.graph->outside_ops().get(), domain, op) != nullptr) continue;
    if (domain.empty() && (IsControlFlow(op) || IsSequenceOperator(op))) continue;
    auto& [count, names] = unknown[domain.empty() ? op : domain + "." + op];
    if (++count > kNamesShown) continue;
    names += fmt::format("{}'{}'", count == 1 ? "" : ", ", EscapeControl(NodeName(node, n)));
  }
}

Status GraphBuilder::CheckOperators(const NodeList& nodes) const {
  std::map<std::string, std::pair<int, std::string>> unknown;  // operator -> count, names
  std::unordered_set<const onnx::FunctionProto*> seen;
  std::vector<const onnx::FunctionProto*> called;
  CollectUnknown(nodes, unknown, seen, called);
  while (!called.empty()) {
    const onnx::FunctionProto* function = called.back();
    called.pop_back();
    CollectUnknown(function->node(), unknown, seen, called);
  }
  if (unknown.empty()) return OkStatus();
  std::string text;
  for (const auto& [op, uses] : unknown) {
    const auto& [count, names] = uses;
    text += fmt::format(
        "{}{} (node {}{})", text.empty() ? "" : ", ", op, names,
        count > kNamesShown ? fmt::format(" and {} more", count - kNamesShown) : std::string());
  }
  return Unimplemented(fmt::format(
      "{} not supported: {}", unknown.size() == 1 ? "an operator is" : "some operators are", text));
}

Status GraphBuilder::AddNodes(const NodeList& nodes, const std::vector<std::string>& outputs,
                              Scope& scope) {
  std::unordered_set<std::string> known;
  for (const auto& [name, value] : scope.values) known.insert(name);
  const auto captured = [&](const std::string& name) {
    return scope.outer != nullptr && scope.outer->Find(name) != kNone;
  };
  TEMPER_ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(nodes, known, captured));
  std::unordered_set<std::string> read, live(outputs.begin(), outputs.end());
  for (const onnx::NodeProto& node : nodes) {
    ForEachRead(node, [&](const std::string& name) { read.insert(name); });
  }
  live.insert(read.begin(), read.end());
  scope.read = &read;
  Status status = AddInOrder(nodes, std::vector<int>(order), outputs, live, scope);
  scope.read = nullptr;
  return status;
}

Status GraphBuilder::AddInOrder(const NodeList& nodes, std::vector<int> order,
                                const std::vector<std::string>& outputs,
                                const std::unordered_set<std::string>& live, Scope& scope) {
  for (size_t i = 0; i < order.size(); ++i) {
    const onnx::NodeProto& node = nodes.Get(order[i]);
    if (!VaryingReads(node, scope).empty()) {
      // What depends on it is added for each of its shapes.
      order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i));
      Segment segment(*this, nodes, outputs, live, scope);
      TEMPER_ASSIGN_OR_RETURN(order, segment.Run(order));
      i = static_cast<size_t>(-1);
      continue;
    }
    TEMPER_RETURN_IF_ERROR(AddNode(node, scope.prefix + NodeName(node, order[i]), live, scope));
  }
  return scope.IsMain() ? GiveOut(*this, outputs, scope) : OkStatus();
}

const Varying* GraphBuilder::FindVarying(int value) const {
  const auto at = region_->varying.find(value);
  return at == region_->varying.end() ? nullptr : &at->second;
}

std::vector<int> GraphBuilder::VaryingReads(const onnx::NodeProto& node, const Scope& scope) {
  std::vector<int> found;
  if (region_->varying.empty()) return found;
  const auto add = [&](int value) {
    if (value == kNone || FindVarying(value) == nullptr) return;
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
  };
  ForEachRead(node, [&](const std::string& name) {
    for (const Scope* s = &scope; s != nullptr; s = s->outer) {
      if ((s->region == nullptr ? &main_ : s->region) != region_) return;
      if (const auto at = s->values.find(name); at != s->values.end()) return add(at->second);
      if (const auto at = s->sequences.find(name); at != s->sequences.end()) {
        for (int value : at->second) add(value);
        return;
      }
    }
  });
  return found;
}

Status GraphBuilder::CountCopies(int64_t nodes, const std::string& what) {
  copies_ += nodes;
  if (copies_ <= kMaxCopies) return OkStatus();
  return ResourceExhausted(fmt::format(
      "{}; with what depends on it written out for each, the model has more than {} nodes of that "
      "kind; a lower --max-trips, or results of one shape, would do",
      what, kMaxCopies));
}

Status GraphBuilder::AddNode(const onnx::NodeProto& node, const std::string& name,
                             const std::unordered_set<std::string>& read, Scope& scope) {
  const auto named = [&] { return fmt::format("{} '{}'", node.op_type(), EscapeControl(name)); };
  if (std::max(node.input_size(), node.output_size()) > kMaxOperands) {
    return ResourceExhausted(
        fmt::format("{} has more than {} inputs or outputs", named(), kMaxOperands));
  }
  if (std::max<int64_t>(++nodes_read_, graph().node_limit()) > kMaxNodes) {
    return ResourceExhausted(
        fmt::format("{}: with its functions and loops written out the model has more than {} nodes",
                    named(), kMaxNodes));
  }
  const bool own = IsOnnx(node.domain());
  if (own && FindFunction(node) == nullptr &&
      graph::FindOutsideOp(graph().outside_ops().get(), "", node.op_type()) == nullptr) {
    const Status checked = CheckAttributes(node, scope.opset);
    if (!checked.ok()) return checked.WithContext(named());
  }
  if (own && IsSequenceOperator(node.op_type())) return AddSequence(node, name, scope);
  std::vector<int> inputs;
  for (const std::string& input : node.input()) {
    if (scope.FindSequence(input) != nullptr) {
      if (own && node.op_type() == "Identity") return AddSequence(node, name, scope);
      return Unimplemented(
          fmt::format("{}: its input '{}' is a sequence; only tensors are supported there", named(),
                      EscapeControl(input)));
    }
    inputs.push_back(input.empty() ? kNone : Lookup(scope, input));
  }
  // Trailing absent inputs are as good as none.
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  std::vector<int> results;
  if (const onnx::FunctionProto* function = FindFunction(node)) {
    TEMPER_ASSIGN_OR_RETURN(results, AddCall(node, *function, name, inputs, scope));
  } else if (IsOnnx(node.domain()) && IsControlFlow(node.op_type())) {
    TEMPER_ASSIGN_OR_RETURN(results, AddControlFlow(*this, node, name, inputs, read, scope));
  } else if (IsOnnx(node.domain()) && node.op_type() == "Constant") {
    auto tensor = ReadConstant(node, reader_, scope.arguments);
    if (!tensor.ok()) return tensor.status().WithContext(named());
    if (node.output_size() != 1) return InvalidArgument(named() + ": it needs one output");
    results.push_back(graph().AddConstant(node.output(0), std::move(tensor).value()));
  } else {
    auto attributes = ReadAttributes(node, reader_, scope.arguments);
    if (!attributes.ok()) return attributes.status().WithContext(named());
    SourceNode source;
    source.op = node.op_type();
    source.name = name;
    source.attributes = std::move(attributes).value();
    source.inputs = std::move(inputs);
    source.outputs.assign(node.output().begin(), node.output().end());
    for (const std::string& output : node.output()) {
      source.used.push_back(!output.empty() && read.count(output) != 0);
    }
    const graph::OutsideOp* outside =
        graph::FindOutsideOp(graph().outside_ops().get(), Domain(node.domain()), node.op_type());
    if (outside != nullptr) {
      TEMPER_ASSIGN_OR_RETURN(results, AddOutside(*outside, std::move(source)));
    } else {
      source.attributes.erase(graph::kRoom);  // ours
      TEMPER_ASSIGN_OR_RETURN(results, Upgrade(graph(), scope.opset, std::move(source)));
    }
  }
  TEMPER_RETURN_IF_ERROR(LetExtentsVary(*this, node, scope, &results));
  for (int i = 0; i < node.output_size() && i < static_cast<int>(results.size()); ++i) {
    if (!node.output(i).empty() && results[i] != kNone) scope.values[node.output(i)] = results[i];
  }
  return OkStatus();
}

Result<std::vector<int>> GraphBuilder::AddOutside(const graph::OutsideOp& op, SourceNode source) {
  const std::string named =
      fmt::format("{}.{} '{}'", op.domain, op.name, EscapeControl(source.name));
  const auto version = domain_versions_.find(op.domain);
  if (version != domain_versions_.end() &&
      (version->second < op.oldest_version || version->second > op.newest_version)) {
    return Unimplemented(
        fmt::format("{}: the model uses version {} of {}; the operator that was given to the "
                    "compiler is for {} "
                    "to {}",
                    named, version->second, op.domain, op.oldest_version, op.newest_version));
  }
  Status filled = graph::FillAttributes(op, &source.attributes);
  if (!filled.ok()) return filled.WithContext(named);
  for (size_t i = 0; i < source.outputs.size(); ++i) {
    if (!source.used[i]) source.outputs[i].clear();
  }
  // One output is enough to say what the node is for, and to remove it.
  if (!source.outputs.empty() && source.outputs[0].empty()) source.outputs[0] = source.name + "/0";
  const int id = graph().AddNode(op.name, std::move(source.inputs), std::move(source.outputs),
                                 std::move(source.attributes), {source.name}, op.domain);
  TEMPER_RETURN_IF_ERROR(graph::CheckArity(graph().node(id)));
  const std::vector<int> results = graph().node(id).outputs;
  TEMPER_RETURN_IF_ERROR(graph::InferAndFoldSmall(graph(), id));
  return results;
}

Status GraphBuilder::AddSequence(const onnx::NodeProto& node, const std::string& name,
                                 Scope& scope) {
  constexpr int64_t kMostTensors = int64_t{1} << 24;
  const auto named = [&] { return fmt::format("{} '{}'", node.op_type(), EscapeControl(name)); };
  if (node.output_size() != 1) return InvalidArgument(named() + ": it needs one output");
  SequenceNode sequence{node.op_type(), name, {}, node.output(0), {}};
  for (const std::string& input : node.input()) {
    if (scope.FindSequence(input) != nullptr) {
      sequence.inputs.emplace_back(LookupSequence(scope, input));
    } else {
      sequence.inputs.emplace_back(input.empty() ? kNone : Lookup(scope, input));
    }
  }
  auto attributes = ReadAttributes(node, reader_, scope.arguments);
  if (!attributes.ok()) return attributes.status().WithContext(named());
  sequence.attributes = std::move(attributes).value();
  TEMPER_ASSIGN_OR_RETURN(TensorOrSequence result, AddSequenceNode(graph(), sequence));
  if (node.output(0).empty()) return OkStatus();
  if (const int* value = std::get_if<int>(&result)) {
    scope.values[node.output(0)] = *value;
    return OkStatus();
  }
  Sequence& list = std::get<Sequence>(result);
  sequence_tensors_ += static_cast<int64_t>(list.size());
  if (sequence_tensors_ > kMostTensors) {
    return ResourceExhausted(named() + ": the model's sequences hold too many tensors");
  }
  scope.sequences[node.output(0)] = std::move(list);
  return OkStatus();
}

Result<std::vector<int>> GraphBuilder::AddCall(const onnx::NodeProto& node,
                                               const onnx::FunctionProto& function,
                                               const std::string& name,
                                               const std::vector<int>& inputs, const Scope& scope) {
  const auto refuse = [&](const std::string& what) {
    return InvalidArgument(fmt::format("{} '{}': {}", node.op_type(), name, what));
  };
  if (scope.depth >= kMaxDepth) return refuse("functions are nested too deeply");
  if (static_cast<int>(inputs.size()) > function.input_size()) {
    return refuse(
        fmt::format("it has {} inputs, but the function {}", inputs.size(), function.input_size()));
  }
  auto arguments = ReadArguments(node, function, reader_, scope.arguments);
  if (!arguments.ok()) return refuse(arguments.status().message());
  Scope body;
  body.depth = scope.depth + 1;
  body.region = region_;
  body.opset = OpsetOf(function.opset_import(), scope.opset);
  body.prefix = name + "/";
  body.arguments = &*arguments;
  for (int i = 0; i < function.input_size(); ++i) {
    // An input that the call leaves out is absent inside too: kNone.
    body.values[function.input(i)] = i < static_cast<int>(inputs.size()) ? inputs[i] : kNone;
  }
  const std::vector<std::string> outputs(function.output().begin(), function.output().end());
  TEMPER_RETURN_IF_ERROR(AddNodes(function.node(), outputs, body));
  std::vector<int> results;
  for (const std::string& output : outputs) {
    if (body.FindSequence(output) != nullptr) {
      return Unimplemented(
          fmt::format("{} '{}': its result '{}' is a sequence; only tensors are supported there",
                      node.op_type(), name, output));
    }
    results.push_back(Lookup(body, output));
  }
  return results;
}

Result<std::vector<int>> GraphBuilder::AddBody(const onnx::GraphProto& body,
                                               const std::vector<int>& inputs, const Scope& outer,
                                               const std::string& prefix) {
  if (outer.depth >= kMaxDepth) return ResourceExhausted("graphs are nested too deeply");
  if (static_cast<int>(inputs.size()) != body.input_size()) {
    return InvalidArgument(fmt::format("the nested graph '{}' has {} inputs instead of {}",
                                       body.name(), body.input_size(), inputs.size()));
  }
  Scope scope;
  scope.outer = &outer;
  scope.region = region_;
  scope.depth = outer.depth + 1;
  scope.opset = outer.opset;
  scope.prefix = prefix;
  scope.arguments = outer.arguments;
  for (int i = 0; i < body.input_size(); ++i) scope.values[body.input(i).name()] = inputs[i];
  for (const onnx::TensorProto& tensor : body.initializer()) {
    TEMPER_ASSIGN_OR_RETURN(graph::Tensor contents, reader_.Read(tensor));
    scope.values[tensor.name()] = graph().AddConstant(tensor.name(), std::move(contents));
  }
  if (body.sparse_initializer_size() > 0) {
    return Unimplemented("sparse initializers are not supported");
  }
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : body.output()) outputs.push_back(output.name());
  TEMPER_RETURN_IF_ERROR(AddNodes(body.node(), outputs, scope));
  std::vector<int> results;
  for (const std::string& output : outputs) {
    results.push_back(Lookup(scope, output));
    if (scope.FindSequence(output) != nullptr) {
      return Unimplemented(fmt::format(
          "the nested graph '{}' gives '{}', which is a sequence; only tensors are supported there",
          body.name(), output));
    }
    if (results.back() == kNone) {
      return InvalidArgument(fmt::format("the nested graph '{}' does not define its output '{}'",
                                         body.name(), output));
    }
  }
  return results;
}

Result<NestedGraph> GraphBuilder::BuildNested(const std::string& name,
                                              const std::function<Result<Outputs>()>& build) {
  auto nested = std::make_shared<graph::Graph>();
  nested->name = name;
  nested->SetOutsideOps(graph().outside_ops());
  Region region;
  region.graph = nested.get();
  region.outer = region_;
  region_ = &region;
  auto outputs = build();
  region_ = region.outer;
  if (!outputs.ok()) return outputs.status();
  for (const auto& [output, value] : *outputs) nested->AddOutput(value, output);
  TEMPER_RETURN_IF_ERROR(FinishNested(*nested));
  return NestedGraph{std::move(nested), std::move(region.captured)};
}

Status GraphBuilder::FinishNested(graph::Graph& nested) {
  nested.RemoveDead();
  for (int id : nested.order()) {
    for (int output : nested.node(id).outputs) {
      if (output == kNone || nested.type(output).IsStatic()) continue;
      if (nested.type(output).IsBounded() && nested.value(output).uses.empty()) continue;
      return Unimplemented(
          fmt::format("{}: the shape of its result '{}' is not known before the model runs; in a "
                      "branch or loop it must be",
                      nested.node(id).Describe(), nested.value(output).name));
    }
  }
  return OkStatus();
}

int GraphBuilder::Lookup(const Scope& scope, const std::string& name) {
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    const auto at = s->values.find(name);
    if (at == s->values.end()) continue;
    return Capture(at->second, s->region == nullptr ? &main_ : s->region, region_);
  }
  return kNone;
}

Sequence GraphBuilder::LookupSequence(const Scope& scope, const std::string& name) {
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    const auto at = s->sequences.find(name);
    if (at == s->sequences.end()) continue;
    Sequence sequence = at->second;
    for (int& value : sequence) {
      value = Capture(value, s->region == nullptr ? &main_ : s->region, region_);
    }
    return sequence;
  }
  return {};
}

int GraphBuilder::Capture(int value, const Region* from, Region* to) {
  if (from == to || value == kNone) return value;
  TEMPER_CHECK(to->outer != nullptr);
  if (to->views_of == from) {
    const auto view = to->views.find(value);
    if (view != to->views.end()) {
      if (view->second.known == kNone) {
        const Form& form = view->second.form;
        const std::string name = from->graph->value(value).name;
        if (form.constant != nullptr) {
          view->second.known = to->graph->AddConstant(name, *form.constant);
        } else {
          to->captured.push_back(Capture(value, from, to->outer));
          view->second.known = to->graph->AddInput(name, form.type);
        }
      }
      return view->second.known;
    }
  }
  const int outer = Capture(value, from, to->outer);
  const auto [at, added] = to->known.try_emplace(outer, kNone);
  if (!added) return at->second;
  const graph::Value& v = to->outer->graph->value(outer);
  if (v.IsConstant()) {
    at->second = to->graph->AddConstant(v.name, *v.constant);
  } else {
    at->second = to->graph->AddInput(v.name, v.type);
    to->captured.push_back(outer);
  }
  return at->second;
}

int64_t GraphBuilder::MaxTrips(const std::string& name) {
  const auto at = flow_.max_trips.find(name);
  if (at == flow_.max_trips.end()) return -1;
  bounded_loops_.insert(name);
  return at->second;
}

Status GraphBuilder::CheckMaxTrips(const Status& added) const {
  for (const auto& [name, trips] : flow_.max_trips) {
    if (bounded_loops_.count(name) != 0) continue;
    if (added.ok()) {
      return InvalidArgument(
          fmt::format("--max-trips names '{}', which is no Loop whose trips are only known at run "
                      "time",
                      EscapeControl(name)));
    }
    // The loop may have come later.
    return Status(added.code(), fmt::format("{} (--max-trips names '{}', and no such Loop was met "
                                            "so far)",
                                            added.message(), EscapeControl(name)));
  }
  return added;
}

}  // namespace temper::importer
