#include "compiler/graph/graph.h"

#include <algorithm>
#include <queue>

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
  for (size_t i = 0; i < sources.size(); ++i) {
    text += (i == 0 ? " '" : " + '") + sources[i] + "'";
  }
  return text;
}

// --- Reading -------------------------------------------------------------------------------------

bool Graph::IsOutput(int value_id) const {
  return std::find(outputs_.begin(), outputs_.end(), value_id) != outputs_.end();
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

int Graph::NewNode(size_t position, std::string op, std::vector<int> inputs,
                   std::vector<std::string> output_names, Attributes attributes,
                   std::vector<std::string> sources, std::string domain) {
  const int id = node_limit();
  Node node;
  node.id = id;
  node.op = std::move(op);
  node.domain = std::move(domain);
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
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), id);
  SetInputs(id, std::move(inputs));
  return id;
}

size_t Graph::PositionOf(int node_id) const {
  // From the back: nodes are mostly sought soon after they were appended.
  const auto it = std::find(order_.rbegin(), order_.rend(), node_id);
  TEMPER_CHECK(it != order_.rend());
  return static_cast<size_t>(order_.rend() - it) - 1;
}

int Graph::AddNode(std::string op, std::vector<int> inputs, std::vector<std::string> output_names,
                   Attributes attributes, std::vector<std::string> sources, std::string domain) {
  return NewNode(order_.size(), std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

int Graph::InsertBefore(int before, std::string op, std::vector<int> inputs,
                        std::vector<std::string> output_names, Attributes attributes,
                        std::vector<std::string> sources, std::string domain) {
  return NewNode(PositionOf(before), std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

int Graph::InsertAfter(int after, std::string op, std::vector<int> inputs,
                       std::vector<std::string> output_names, Attributes attributes,
                       std::vector<std::string> sources, std::string domain) {
  return NewNode(PositionOf(after) + 1, std::move(op), std::move(inputs), std::move(output_names),
                 std::move(attributes), std::move(sources), std::move(domain));
}

void Graph::AddOutput(int value_id, std::string output_name) {
  outputs_.push_back(value_id);
  output_names_.push_back(std::move(output_name));
}

void Graph::SetOutput(size_t index, int value_id) { outputs_[index] = value_id; }

void Graph::DropUse(int value_id, Use use) {
  std::vector<Use>& uses = values_[value_id].uses;
  const auto it = std::find(uses.begin(), uses.end(), use);
  TEMPER_CHECK(it != uses.end());
  *it = uses.back();
  uses.pop_back();
}

void Graph::SetInput(int node_id, size_t index, int value_id) {
  std::vector<int>& inputs = nodes_[node_id].inputs;
  if (index >= inputs.size()) {
    if (value_id == kNone) return;
    inputs.resize(index + 1, kNone);
  }
  const Use use = {node_id, static_cast<int>(index)};
  if (inputs[index] != kNone) DropUse(inputs[index], use);
  inputs[index] = value_id;
  if (value_id != kNone) values_[value_id].uses.push_back(use);
}

void Graph::SetInputs(int node_id, std::vector<int> inputs) {
  std::vector<int>& old = nodes_[node_id].inputs;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != kNone) DropUse(old[i], {node_id, static_cast<int>(i)});
  }
  old = std::move(inputs);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] != kNone) values_[old[i]].uses.push_back({node_id, static_cast<int>(i)});
  }
}

void Graph::SetAttribute(int node_id, const std::string& attribute, Attribute value) {
  nodes_[node_id].attributes[attribute] = std::move(value);
}

void Graph::RemoveAttribute(int node_id, const std::string& attribute) {
  nodes_[node_id].attributes.erase(attribute);
}

void Graph::SetOp(int node_id, std::string op) { nodes_[node_id].op = std::move(op); }

void Graph::AddSources(int node_id, const std::vector<std::string>& sources) {
  std::vector<std::string>& own = nodes_[node_id].sources;
  for (const std::string& source : sources) {
    if (std::find(own.begin(), own.end(), source) == own.end()) own.push_back(source);
  }
}

void Graph::ReplaceUses(int from, int to) {
  if (from == to) return;
  for (const Use& use : values_[from].uses) {
    nodes_[use.node].inputs[use.input] = to;
    values_[to].uses.push_back(use);
  }
  values_[from].uses.clear();
  for (int& output : outputs_) {
    if (output == from) output = to;
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
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(PositionOf(node_id)));
  node = Node();
}

int Graph::RemoveDead() {
  std::vector<char> is_output(values_.size(), 0);
  for (int output : outputs_) is_output[output] = 1;
  std::vector<int> kept;
  int removed = 0;
  // Backwards, so that a dead node's operands have lost its uses when they are reached.
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    Node& node = nodes_[*it];
    bool used = false;
    for (int output : node.outputs) {
      used |= output != kNone && (!values_[output].uses.empty() || is_output[output]);
    }
    if (used) {
      kept.push_back(*it);
      continue;
    }
    for (int output : node.outputs) {
      if (output == kNone) continue;
      values_[output].producer = kNone;
      values_[output].producer_output = kNone;
    }
    SetInputs(*it, {});
    node = Node();
    ++removed;
  }
  std::reverse(kept.begin(), kept.end());
  order_ = std::move(kept);
  return removed;
}

void Graph::Compact() {
  std::vector<int> value_map(values_.size(), kNone);
  std::vector<Value> values;
  const auto keep = [&](int id) {
    if (id == kNone || value_map[id] != kNone) return;
    value_map[id] = static_cast<int>(values.size());
    values.push_back(std::move(values_[id]));
    values.back().id = value_map[id];
    values.back().uses.clear();
  };
  for (int id : inputs_) keep(id);
  std::vector<Node> nodes;
  for (int node_id : order_) {
    Node& node = nodes_[node_id];
    for (int input : node.inputs) keep(input);
    for (int output : node.outputs) keep(output);
    nodes.push_back(std::move(node));
  }
  for (int id : outputs_) keep(id);

  for (size_t n = 0; n < nodes.size(); ++n) {
    Node& node = nodes[n];
    node.id = static_cast<int>(n);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      node.inputs[i] = value_map[node.inputs[i]];
      values[node.inputs[i]].uses.push_back({node.id, static_cast<int>(i)});
    }
    for (int& output : node.outputs) {
      if (output == kNone) continue;
      output = value_map[output];
      values[output].producer = node.id;
    }
    order_[n] = node.id;
  }
  for (int& id : inputs_) id = value_map[id];
  for (int& id : outputs_) id = value_map[id];
  nodes_ = std::move(nodes);
  values_ = std::move(values);
}

bool Graph::Sort() {
  // Kahn's algorithm; the smallest old position first keeps an order that is right as it is.
  std::vector<int> waiting(nodes_.size(), 0);
  std::vector<int> position(nodes_.size(), 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // positions
  for (size_t i = 0; i < order_.size(); ++i) {
    const Node& node = nodes_[order_[i]];
    position[node.id] = static_cast<int>(i);
    for (int input : node.inputs) {
      if (input != kNone && values_[input].producer != kNone) ++waiting[node.id];
    }
    if (waiting[node.id] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> sorted;
  sorted.reserve(order_.size());
  while (!ready.empty()) {
    const int id = order_[ready.top()];
    ready.pop();
    sorted.push_back(id);
    for (int output : nodes_[id].outputs) {
      if (output == kNone) continue;
      for (const Use& use : values_[output].uses) {
        if (--waiting[use.node] == 0) ready.push(position[use.node]);
      }
    }
  }
  if (sorted.size() != order_.size()) return false;
  order_ = std::move(sorted);
  return true;
}

}  // namespace temper::graph
