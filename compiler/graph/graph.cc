#include "compiler/graph/graph.h"

#include <algorithm>
#include <queue>

#include "base/text.h"
#include "compiler/graph/outside_op.h"

namespace temper::graph {
namespace {

template <typename T>
T Get(const Attributes& attributes, const std::string& name, T absent) {
  const auto it = attributes.find(name);
  if (it == attributes.end()) return absent;
  const T* value = std::get_if<T>(&it->second);
  return value != nullptr ? *value : absent;
}

}  // namespace

int64_t Node::Int(const std::string& name, int64_t absent) const {
  return Get<int64_t>(attributes, name, absent);
}
float Node::Float(const std::string& name, float absent) const {
  return Get<float>(attributes, name, absent);
}
std::string Node::String(const std::string& name, std::string absent) const {
  return Get<std::string>(attributes, name, std::move(absent));
}
std::vector<int64_t> Node::Ints(const std::string& name, std::vector<int64_t> absent) const {
  return Get<std::vector<int64_t>>(attributes, name, std::move(absent));
}
std::vector<float> Node::Floats(const std::string& name, std::vector<float> absent) const {
  return Get<std::vector<float>>(attributes, name, std::move(absent));
}

std::string Node::Describe() const {
  std::string text = domain.empty() ? op : domain + "." + op;
  constexpr size_t kShown = 4;
  for (size_t i = 0; i < std::min(sources.size(), kShown); ++i) {
    text += (i == 0 ? " '" : " + '") + EscapeControl(sources[i]) + "'";
  }
  if (sources.size() > kShown) text += " + " + std::to_string(sources.size() - kShown) + " more";
  return text;
}

// --- Reading -------------------------------------------------------------------------------------

const std::vector<int>& Graph::order() const {
  if (!order_valid_) {
    order_.clear();
    for (int id = first_; id != kNone; id = next_[id]) order_.push_back(id);
    order_valid_ = true;
  }
  return order_;
}

const Tensor* Graph::ConstantInput(const Node& node, size_t input) const {
  const int id = node.Input(input);
  return id == kNone ? nullptr : values_[id].constant.get();
}

const Node* Graph::ProducerOf(int value_id) const {
  if (value_id == kNone || values_[value_id].producer == kNone) return nullptr;
  return &nodes_[values_[value_id].producer];
}

const Use* Graph::OnlyUse(int value_id) const {
  const Value& value = values_[value_id];
  return value.uses.size() == 1 && !IsOutput(value_id) ? &value.uses[0] : nullptr;
}

// --- Building and editing ------------------------------------------------------------------------

int Graph::NewValue(std::string value_name) {
  Value value;
  value.id = value_count();
  value.name = std::move(value_name);
  values_.push_back(std::move(value));
  return values_.back().id;
}

int Graph::AddInput(std::string input_name, ValueType type) {
  const int id = NewValue(std::move(input_name));
  values_[id].type = std::move(type);
  values_[id].is_input = true;
  inputs_.push_back(id);
  return id;
}

int Graph::AddConstant(std::string constant_name, Tensor tensor) {
  const int id = NewValue(std::move(constant_name));
  values_[id].type = TensorType(tensor.dtype, tensor.shape);
  values_[id].constant = std::make_shared<const Tensor>(std::move(tensor));
  return id;
}

int Graph::NewNode(int before, std::string op, std::vector<int> inputs,
                   std::vector<std::string> output_names, Attributes attributes,
                   std::vector<std::string> sources, std::string domain) {
  const int id = node_limit();
  Node node;
  node.id = id;
  node.op = std::move(op);
  node.domain = std::move(domain);
  node.outside = FindOutsideOp(outside_ops_.get(), node.domain, node.op);
  node.attributes = std::move(attributes);
  node.sources = std::move(sources);
  for (size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) {
      node.outputs.push_back(kNone);
      continue;
    }
    const int value = NewValue(std::move(output_names[i]));
    values_[value].producer = id;
    values_[value].producer_output = static_cast<int>(i);
    node.outputs.push_back(value);
  }
  nodes_.push_back(std::move(node));
  use_slots_.emplace_back();
  next_.push_back(kNone);
  previous_.push_back(kNone);
  Link(id, before);
  SetInputs(id, std::move(inputs));
  return id;
}

void Graph::Link(int node_id, int before) {
  const int after = before == kNone ? last_ : previous_[before];
  next_[node_id] = before;
  previous_[node_id] = after;
  (after == kNone ? first_ : next_[after]) = node_id;
  (before == kNone ? last_ : previous_[before]) = node_id;
  order_valid_ = false;
}

void Graph::Unlink(int node_id) {
  const int before = previous_[node_id];
  const int after = next_[node_id];
  (before == kNone ? first_ : next_[before]) = after;
  (after == kNone ? last_ : previous_[after]) = before;
  order_valid_ = false;
}

void Graph::SetOrder(const std::vector<int>& order) {
  first_ = last_ = kNone;
  for (int id : order) Link(id, kNone);
}

int Graph::AddNode(std::string op, std::vector<int> inputs, std::vector<std::string> output_names,
                   Attributes attributes, std::vector<std::string> sources, std::string domain) {
  return NewNode(kNone, std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

int Graph::InsertBefore(int before, std::string op, std::vector<int> inputs,
                        std::vector<std::string> output_names, Attributes attributes,
                        std::vector<std::string> sources, std::string domain) {
  return NewNode(before, std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

int Graph::InsertAfter(int after, std::string op, std::vector<int> inputs,
                       std::vector<std::string> output_names, Attributes attributes,
                       std::vector<std::string> sources, std::string domain) {
  return NewNode(next_[after], std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

void Graph::AddOutput(int value_id, std::string output_name) {
  outputs_.push_back(value_id);
  output_names_.push_back(std::move(output_name));
  ++values_[value_id].output_uses;
}

void Graph::SetOutput(size_t index, int value_id) {
  --values_[outputs_[index]].output_uses;
  outputs_[index] = value_id;
  ++values_[value_id].output_uses;
}

void Graph::PutUse(int value_id, Use use) {
  std::vector<Use>& uses = values_[value_id].uses;
  use_slots_[use.node][use.input] = static_cast<int>(uses.size());
  uses.push_back(use);
}

void Graph::DropUse(int value_id, Use use) {
  std::vector<Use>& uses = values_[value_id].uses;
  const int slot = use_slots_[use.node][use.input];
  TEMPER_CHECK(uses[slot] == use);
  uses[slot] = uses.back();
  use_slots_[uses[slot].node][uses[slot].input] = slot;
  uses.pop_back();
}

void Graph::SetInput(int node_id, size_t index, int value_id) {
  std::vector<int>& inputs = nodes_[node_id].inputs;
  if (index >= inputs.size()) {
    if (value_id == kNone) return;
    inputs.resize(index + 1, kNone);
    use_slots_[node_id].resize(index + 1, kNone);
  }
  const Use use = {node_id, static_cast<int>(index)};
  if (inputs[index] != kNone) DropUse(inputs[index], use);
  inputs[index] = value_id;
  if (value_id != kNone) PutUse(value_id, use);
}

void Graph::SetInputs(int node_id, std::vector<int> inputs) {
  std::vector<int>& old = nodes_[node_id].inputs;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != kNone) DropUse(old[i], {node_id, static_cast<int>(i)});
  }
  old = std::move(inputs);
  use_slots_[node_id].assign(old.size(), kNone);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != kNone) PutUse(old[i], {node_id, static_cast<int>(i)});
  }
}

void Graph::SetAttribute(int node_id, const std::string& attribute, Attribute value) {
  nodes_[node_id].attributes[attribute] = std::move(value);
}

void Graph::RemoveAttribute(int node_id, const std::string& attribute) {
  nodes_[node_id].attributes.erase(attribute);
}

void Graph::SetOp(int node_id, std::string op) {
  Node& node = nodes_[node_id];
  node.op = std::move(op);
  node.outside = FindOutsideOp(outside_ops_.get(), node.domain, node.op);
}

void Graph::AddSources(int node_id, const std::vector<std::string>& sources) {
  // Looking for repeats would be quadratic in a list that is hostile in length.
  constexpr size_t kCompared = 64;
  std::vector<std::string>& own = nodes_[node_id].sources;
  for (const std::string& source : sources) {
    if (own.size() > kCompared || std::find(own.begin(), own.end(), source) == own.end()) {
      own.push_back(source);
    }
  }
}

void Graph::MoveSources(int from, int to, bool first) {
  std::vector<std::string> moved = std::move(nodes_[from].sources);
  nodes_[from].sources.clear();
  if (!first) return AddSources(to, moved);
  // Appending the shorter list keeps long chains linear.
  moved.swap(nodes_[to].sources);
  AddSources(to, moved);
}

void Graph::ReplaceUses(int from, int to) {
  if (from == to) return;
  const std::vector<Use> uses = std::move(values_[from].uses);
  values_[from].uses.clear();
  for (const Use& use : uses) {
    nodes_[use.node].inputs[use.input] = to;
    PutUse(to, use);
  }
  if (values_[from].output_uses == 0) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == from) SetOutput(i, to);
  }
}

void Graph::MakeConstant(int value_id, Tensor tensor) {
  Value& value = values_[value_id];
  TEMPER_CHECK(!value.is_input);
  if (value.producer != kNone) nodes_[value.producer].outputs[value.producer_output] = kNone;
  value.producer = kNone;
  value.producer_output = kNone;
  value.type = TensorType(tensor.dtype, tensor.shape);
  value.constant = std::make_shared<const Tensor>(std::move(tensor));
}

void Graph::RemoveNode(int node_id) {
  Node& node = nodes_[node_id];
  for (int output : node.outputs) {
    if (output == kNone) continue;
    TEMPER_CHECK(values_[output].uses.empty() && !IsOutput(output));
    values_[output].producer = kNone;
    values_[output].producer_output = kNone;
  }
  SetInputs(node_id, {});
  Unlink(node_id);
  node = Node();
}

int Graph::RemoveDead() {
  int removed = 0;
  // Backwards, so that a dead node's operands have lost its uses when they are reached.
  for (int id = last_; id != kNone;) {
    const int previous = previous_[id];
    bool used = false;
    for (int output : nodes_[id].outputs) {
      used |= output != kNone && (!values_[output].uses.empty() || IsOutput(output));
    }
    if (!used) {
      RemoveNode(id);
      ++removed;
    }
    id = previous;
  }
  return removed;
}

void Graph::Compact() {
  std::vector<int> value_map(values_.size(), kNone);
  std::deque<Value> values;
  const auto keep = [&](int id) {
    if (id == kNone || value_map[id] != kNone) return;
    value_map[id] = static_cast<int>(values.size());
    values.push_back(std::move(values_[id]));
    values.back().id = value_map[id];
    values.back().uses.clear();
  };
  for (int id : inputs_) keep(id);
  std::deque<Node> nodes;
  for (int node_id : order()) {
    Node& node = nodes_[node_id];
    for (int input : node.inputs) keep(input);
    for (int output : node.outputs) keep(output);
    nodes.push_back(std::move(node));
  }
  for (int id : outputs_) keep(id);

  nodes_ = std::move(nodes);
  values_ = std::move(values);
  next_.assign(nodes_.size(), kNone);
  previous_.assign(nodes_.size(), kNone);
  use_slots_.assign(nodes_.size(), {});
  first_ = last_ = kNone;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    node.id = static_cast<int>(n);
    Link(node.id, kNone);
    std::vector<int> inputs = std::move(node.inputs);
    for (int& input : inputs) input = input == kNone ? kNone : value_map[input];
    node.inputs.clear();
    SetInputs(node.id, std::move(inputs));
    for (int& output : node.outputs) {
      if (output == kNone) continue;
      output = value_map[output];
      values_[output].producer = node.id;
    }
  }
  for (int& id : inputs_) id = value_map[id];
  for (int& id : outputs_) id = value_map[id];
}

bool Graph::Sort() {
  // Kahn's algorithm; the smallest old position first keeps an order that is right as it is.
  std::vector<int> waiting(nodes_.size(), 0);
  std::vector<int> position(nodes_.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // positions
  const std::vector<int> old = order();
  for (size_t i = 0; i < old.size(); ++i) {
    const Node& node = nodes_[old[i]];
    position[node.id] = static_cast<int>(i);
    for (int input : node.inputs) {
      if (input != kNone && values_[input].producer != kNone) ++waiting[node.id];
    }
    if (waiting[node.id] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> sorted;
  sorted.reserve(old.size());
  while (!ready.empty()) {
    const int id = old[ready.top()];
    ready.pop();
    sorted.push_back(id);
    for (int output : nodes_[id].outputs) {
      if (output == kNone) continue;
      for (const Use& use : values_[output].uses) {
        if (--waiting[use.node] == 0) ready.push(position[use.node]);
      }
    }
  }
  if (sorted.size() != old.size()) return false;
  SetOrder(sorted);
  return true;
}

}  // namespace temper::graph
