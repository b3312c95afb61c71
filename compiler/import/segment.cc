#include "compiler/import/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace temper::importer {
namespace {

using graph::kNone;

// The values of `around` that vary with its families are in the leaf what this combination says.
void SetViews(const Region& around, const Combinations& combinations, int64_t combination,
              Region& leaf) {
  leaf.views_of = &around;
  for (const auto& [value, varying] : around.varying) {
    const int64_t variant = combinations.VariantOf(combination, varying.family);
    if (variant < 0) continue;
    leaf.views[value] = {varying.forms[static_cast<size_t>(variant)], kNone};
  }
}

}  // namespace

Status Segment::Begin(const onnx::NodeProto& first) {
  around_ = builder_.region();
  const std::vector<int> varying = builder_.VaryingReads(first, scope_);
  TEMPER_ASSIGN_OR_RETURN(combinations_, Combine(*around_, varying, what_));
  read_ = fmt::format("{}: what it reads has {} possible shapes ('{}': {})", what_,
                      combinations_.count, EscapeControl(around_->graph->value(varying[0]).name),
                      ListForms(around_->varying.at(varying[0]).forms));
  TEMPER_ASSIGN_OR_RETURN(const int id, CombinationId(builder_, combinations_, source_));
  tree_ = std::make_unique<SwitchTree>(
      SwitchTree::ById(builder_, id, static_cast<int>(combinations_.count), source_));
  leaves_.resize(static_cast<size_t>(combinations_.count));
  for (int i = 0; i < tree_->size(); ++i) {
    SetViews(*around_, combinations_, i, tree_->leaf(i));
    if (!SetTruths(i)) {
      tree_->End(i, what_ + ": one condition cannot both hold and not");
    }
    Scope& leaf = leaves_[static_cast<size_t>(i)];
    leaf.outer = &scope_;
    leaf.region = &tree_->leaf(i);
    leaf.depth = scope_.depth;
    leaf.opset = scope_.opset;
    leaf.prefix = scope_.prefix;
    leaf.arguments = scope_.arguments;
    leaf.read = scope_.read;
  }
  return OkStatus();
}

bool Segment::SetTruths(int leaf) {
  std::map<int, Truth> known;
  for (int family : combinations_.families) {
    const auto variant = static_cast<size_t>(combinations_.VariantOf(leaf, family));
    for (const auto& [condition, truths] : around_->truths[family]) {
      const Truth truth = truths[variant];
      if (truth == Truth::kEither) continue;
      if (!known.emplace(condition, truth).second && known[condition] != truth) return false;
    }
  }
  for (const auto& [condition, truth] : known) {
    Form form = FormOf(*around_->graph, condition, truth == Truth::kTrue);
    tree_->leaf(leaf).views[condition] = {std::move(form), kNone};
    auto& all = truths_.try_emplace(condition, tree_->size(), Truth::kEither).first->second;
    all[static_cast<size_t>(leaf)] = truth;
  }
  return true;
}

Segment::Read Segment::Classify(const onnx::NodeProto& node) {
  Read read;
  ForEachRead(node, [&](const std::string& name) {
    const auto at = states_.find(name);
    if (at == states_.end()) return;
    read.inside = true;
    read.varies |= at->second == State::kVaries;
    read.blocked |= at->second == State::kBlocked;
    if (at->second == State::kDeferred) read.waiting.push_back(producers_.at(name));
  });
  for (int value : builder_.VaryingReads(node, scope_)) {
    const int family = builder_.FindVarying(value)->family;
    const bool ours = combinations_.VariantOf(0, family) >= 0;
    (ours ? read.varies : read.blocked) = true;
    read.inside = true;
  }
  return read;
}

void Segment::Defer(int n, State state) {
  waiting_.insert(n);
  for (const std::string& output : nodes_.Get(n).output()) {
    if (output.empty()) continue;
    states_[output] = state;
    producers_[output] = n;
  }
}

Segment::State Segment::StateOf(const std::string& output) {
  const Form* first = nullptr;
  Form forms[2];
  bool same = true, constant = true, any = false;
  for (int i = 0; i < tree_->size(); ++i) {
    if (!tree_->error(i).empty()) continue;
    const Scope& leaf = leaves_[static_cast<size_t>(i)];
    const auto at = leaf.values.find(output);
    if (at == leaf.values.end()) return State::kVaries;  // a sequence
    if (tree_->leaf(i).varying.count(at->second) != 0) {
      closed_ = true;
      return State::kVaries;
    }
    Form& form = forms[first == nullptr ? 0 : 1];
    form = FormOf(*tree_->leaf(i).graph, at->second);
    constant = constant && form.constant != nullptr;
    any = any || form.constant != nullptr;
    if (first == nullptr) {
      first = &forms[0];
      same = form.type.IsStatic();
      continue;
    }
    if (form.type != first->type || (constant && form.Key() != first->Key())) same = false;
  }
  // One that is constant in some leaves alone is no constant behind them.
  if (same && any && !constant) return State::kVaries;
  return same ? State::kJoined : State::kVaries;
}

Status Segment::AddToLeaves(int n) {
  const onnx::NodeProto& node = nodes_.Get(n);
  Status why;
  int ended = 0, going = 0;
  int64_t copies = 0;
  for (int i = 0; i < tree_->size(); ++i) {
    if (!tree_->error(i).empty()) continue;
    const GraphBuilder::Count before = builder_.count();
    builder_.Enter(&tree_->leaf(i));
    Status status = builder_.AddNode(node, NameOf(n), live_, leaves_[static_cast<size_t>(i)]);
    builder_.Enter(around_);
    if (going + ended > 0) copies += builder_.PlainSince(before);
    if (status.ok()) {
      ++going;
      continue;
    }
    // A limit, or what a flag would mend: no matter of one shape.
    if (status.code() == Code::kResourceExhausted || status.code() == Code::kFailedPrecondition) {
      return status;
    }
    ++ended;
    tree_->End(i, status.message());
    if (why.ok()) why = std::move(status);
  }
  if (going == 0) return why;
  TEMPER_RETURN_IF_ERROR(builder_.CountCopies(copies, read_));
  if (ended > 0) {
    builder_.Warn(
        fmt::format("for {} of the {} shapes of what {} reads the model ends with an "
                    "error: {}",
                    ended, tree_->size(), what_, why.message()));
  }
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    states_[output] = StateOf(output);
    producers_.erase(output);
    made_.push_back(output);
  }
  return OkStatus();
}

Status Segment::Include(int n) {
  // Those it waits for wait for none that must wait.
  std::vector<int> stack = {n};
  while (!stack.empty()) {
    const int at = stack.back();
    const Read read = Classify(nodes_.Get(at));
    if (!read.waiting.empty()) {
      stack.insert(stack.end(), read.waiting.begin(), read.waiting.end());
      continue;
    }
    stack.pop_back();
    if (at != n && waiting_.erase(at) == 0) continue;
    TEMPER_RETURN_IF_ERROR(AddToLeaves(at));
    if (closed_ && at != n) {  // what it waited for divides the leaves
      Defer(n, State::kBlocked);
      break;
    }
  }
  return OkStatus();
}

Result<std::vector<int>> Segment::Run(const std::vector<int>& order) {
  const onnx::NodeProto& first = nodes_.Get(order[0]);
  source_ = NameOf(order[0]);
  what_ = fmt::format("{} '{}'", first.op_type(), EscapeControl(source_));
  TEMPER_RETURN_IF_ERROR(Begin(first));
  for (int n : order) {
    const onnx::NodeProto& node = nodes_.Get(n);
    const Read read = Classify(node);
    if (!read.inside && !closed_) {
      TEMPER_RETURN_IF_ERROR(builder_.AddNode(node, NameOf(n), live_, scope_));
    } else if (read.blocked || closed_) {
      Defer(n, State::kBlocked);
    } else if (read.varies) {
      TEMPER_RETURN_IF_ERROR(Include(n));
    } else {
      Defer(n, State::kDeferred);
    }
  }
  std::vector<int> left;
  for (int n : order) {
    if (waiting_.count(n) != 0) left.push_back(n);
  }
  TEMPER_RETURN_IF_ERROR(Close(left));
  return left;
}

Status Segment::Close(const std::vector<int>& left) {
  std::unordered_set<std::string> later;
  std::vector<int> kept;
  for (int n : left) {
    ForEachRead(nodes_.Get(n), [&](const std::string& name) { later.insert(name); });
    for (int value : builder_.VaryingReads(nodes_.Get(n), scope_)) {
      const int family = builder_.FindVarying(value)->family;
      if (combinations_.VariantOf(0, family) < 0) continue;
      if (std::find(kept.begin(), kept.end(), value) == kept.end()) kept.push_back(value);
    }
  }
  const std::unordered_set<std::string> outputs(outputs_.begin(), outputs_.end());
  std::vector<Live> live;
  for (const std::string& name : made_) {
    if (later.count(name) == 0 && outputs.count(name) == 0) continue;
    Live& l = live.emplace_back();
    l.name = name;
    l.gives_out = scope_.IsMain() && later.count(name) == 0;
    for (int i = 0; i < tree_->size(); ++i) {
      const Scope& leaf = leaves_[static_cast<size_t>(i)];
      const auto at = leaf.values.find(name);
      if (at == leaf.values.end() && tree_->error(i).empty()) {
        return Unimplemented(fmt::format(
            "{}: what it reads has several shapes, and the sequence '{}' goes on from there; only "
            "tensors are supported there",
            what_, EscapeControl(name)));
      }
      l.values.push_back(at == leaf.values.end() ? kNone : at->second);
    }
  }
  if (live.empty()) return OkStatus();
  Merger merger(builder_, *tree_, source_, what_);
  for (int value : kept) {
    const Varying& varying = *builder_.FindVarying(value);
    std::vector<Form> forms;
    for (int i = 0; i < tree_->size(); ++i) {
      const auto variant = static_cast<size_t>(combinations_.VariantOf(i, varying.family));
      forms.push_back(varying.forms[variant]);
    }
    merger.Keep(value, std::move(forms));
  }
  for (auto& [condition, truths] : truths_) merger.Know(condition, std::move(truths));
  TEMPER_ASSIGN_OR_RETURN(const std::vector<int> values, merger.Merge(live));
  for (size_t k = 0; k < live.size(); ++k) scope_.values[live[k].name] = values[k];
  return OkStatus();
}

Status GiveOut(GraphBuilder& builder, const std::vector<std::string>& outputs, Scope& scope) {
  Region& around = *builder.region();
  for (const std::string& name : outputs) {
    const auto at = scope.values.find(name);
    if (at == scope.values.end() || around.varying.count(at->second) == 0) continue;
    const int family = around.varying.at(at->second).family;
    // All outputs of the family leave the same switch.
    std::vector<Live> live;
    std::vector<int> values;
    for (const std::string& other : outputs) {
      const auto value = scope.values.find(other);
      if (value == scope.values.end()) continue;
      const auto varying = around.varying.find(value->second);
      if (varying == around.varying.end() || varying->second.family != family) continue;
      live.push_back({other, {}, /*gives_out=*/true});
      values.push_back(value->second);
    }
    const graph::Node* producer = around.graph->ProducerOf(at->second);
    const std::string source =
        producer == nullptr || producer->sources.empty() ? name : producer->sources[0];
    TEMPER_ASSIGN_OR_RETURN(const Combinations combinations,
                            Combine(around, values, "output '" + name + "'"));
    SwitchTree tree =
        SwitchTree::ById(builder, family, static_cast<int>(combinations.count), source);
    for (int i = 0; i < tree.size(); ++i) {
      SetViews(around, combinations, i, tree.leaf(i));
      for (size_t k = 0; k < live.size(); ++k) {
        live[k].values.push_back(builder.Capture(values[k], &around, &tree.leaf(i)));
      }
    }
    Merger merger(builder, tree, source, "output '" + name + "'");
    TEMPER_ASSIGN_OR_RETURN(const std::vector<int> results, merger.Merge(live));
    for (size_t k = 0; k < live.size(); ++k) scope.values[live[k].name] = results[k];
  }
  return OkStatus();
}

}  // namespace temper::importer
