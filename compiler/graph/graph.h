// The graph IR: a functional graph of operators on typed values.
//
// Model
//   A Graph holds values and nodes, both named by small integers that stay valid until Compact().
//   Every value has one definition: an input of the graph, a constant, or an output of one node.
//   Nodes are kept in topological order. All edits go through Graph's methods, which keep
//   producers and uses up to date (uses are not in any particular order). A reference to a node
//   or value outlives the adding of others; it dies with RemoveNode of that node and Compact.
//
// Meaning of operators
//   Domain "" is ONNX's and means what opset kCanonicalOpset says, whatever opset the model file
//   used: the importer converts older forms (attributes that became inputs, and so on). Inputs
//   that ONNX defines as tensors stay inputs (Reshape's shape, Slice's starts, Clip's min):
//   read them with ConstantInput(). After the pass `canonicalize` every attribute that has a
//   default or follows from shapes is written out (Conv and pools: kernel_shape, strides,
//   dilations, pads, group, and no auto_pad), and axes are not negative. See op_list.h.
//
// Edits take constant time but for what they touch, so that a pass over a hostile graph of a
// million nodes still ends. Not thread-safe, and order() builds its list at its first call after an
// edit: call it once before threads share a graph. A Graph may be copied; copies share constants'
// bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/attribute.h"
#include "compiler/graph/tensor.h"
#include "compiler/graph/type.h"

namespace temper::graph {

inline constexpr int kCanonicalOpset = 21;
inline constexpr int kNone = -1;  // no value (an absent optional input or output), no node

struct OutsideOp;  // outside_op.h
using OutsideOps = std::map<std::pair<std::string, std::string>, std::shared_ptr<const OutsideOp>>;

struct Node {
  int id = kNone;
  std::string op;            // "Conv"
  std::string domain;        // "": ONNX's own
  std::vector<int> inputs;   // value ids; kNone: an absent optional input
  std::vector<int> outputs;  // value ids; kNone: an output that nobody asked for
  Attributes attributes;
  // Names of the source model's nodes that this node computes, in the order of their merging.
  // Every rewrite carries them on, so that errors, reports and profiles can name them.
  std::vector<std::string> sources;
  // Its operator, where an outside project gave it; else null. Lives as long as the graph.
  const OutsideOp* outside = nullptr;

  bool Is(std::string_view name) const { return domain.empty() && op == name; }
  // The value id, or kNone past the end too.
  int Input(size_t i) const { return i < inputs.size() ? inputs[i] : kNone; }
  int Output(size_t i) const { return i < outputs.size() ? outputs[i] : kNone; }
  bool HasInput(size_t i) const { return Input(i) != kNone; }

  // The attribute, or `absent` if there is none or it has another type.
  int64_t Int(const std::string& name, int64_t absent) const;
  float Float(const std::string& name, float absent) const;
  std::string String(const std::string& name, std::string absent) const;
  std::vector<int64_t> Ints(const std::string& name, std::vector<int64_t> absent = {}) const;
  std::vector<float> Floats(const std::string& name, std::vector<float> absent = {}) const;
  bool Has(const std::string& name) const { return attributes.count(name) != 0; }

  // For messages: "Conv 'conv1'" or "Conv 'conv1' + 'bn1'"; at most four names.
  std::string Describe() const;
};

struct Use {
  int node = kNone;   // node id
  int input = kNone;  // index into its inputs
  bool operator==(const Use&) const = default;
};

struct Value {
  int id = kNone;
  std::string name;  // the source model's name, or one made from it; not necessarily unique
  ValueType type;
  int producer = kNone;                    // node id; kNone: an input or a constant
  int producer_output = kNone;             // index into the producer's outputs
  std::shared_ptr<const Tensor> constant;  // set for constants only
  std::vector<Use> uses;
  int output_uses = 0;  // how often it is an output of the graph
  bool is_input = false;

  bool IsConstant() const { return constant != nullptr; }
};

class Graph {
 public:
  std::string name;

  // Operators of outside projects, which nodes added from then on may be of; may be null. Shared by
  // all graphs of a model.
  void SetOutsideOps(std::shared_ptr<const OutsideOps> ops) { outside_ops_ = std::move(ops); }
  const std::shared_ptr<const OutsideOps>& outside_ops() const { return outside_ops_; }

  // --- Reading ---------------------------------------------------------------------------------

  // Node ids in topological order. Edits change it: copy it to iterate while editing.
  const std::vector<int>& order() const;
  const Node& node(int id) const { return nodes_[id]; }
  const Value& value(int id) const { return values_[id]; }
  bool IsAlive(int node_id) const { return nodes_[node_id].id != kNone; }
  int value_count() const { return static_cast<int>(values_.size()); }  // ids are below it
  int node_limit() const { return static_cast<int>(nodes_.size()); }    // ids are below it

  const std::vector<int>& inputs() const { return inputs_; }    // value ids
  const std::vector<int>& outputs() const { return outputs_; }  // value ids, may repeat
  // Names of the outputs: the model's, whatever value a rewrite put there.
  const std::vector<std::string>& output_names() const { return output_names_; }

  bool IsOutput(int value_id) const { return values_[value_id].output_uses > 0; }
  const ValueType& type(int value_id) const { return values_[value_id].type; }
  // REQUIRES: the type is static.
  Shape shape(int value_id) const { return values_[value_id].type.StaticShape(); }
  // The constant tensor of a node's input; null if the input is absent or not constant.
  const Tensor* ConstantInput(const Node& node, size_t input) const;
  // Producer of a node's input; null if absent, a graph input or a constant.
  const Node* ProducerOf(int value_id) const;
  // The only use of a value that is no output of the graph; null otherwise.
  const Use* OnlyUse(int value_id) const;

  // --- Building and editing --------------------------------------------------------------------

  int AddInput(std::string name, ValueType type);
  int AddConstant(std::string name, Tensor tensor);
  // Appends to the order. A new value is made for each of `output_names` ("": kNone). Types are
  // unknown until SetType or shape inference. Returns the node's id.
  int AddNode(std::string op, std::vector<int> inputs, std::vector<std::string> output_names,
              Attributes attributes = {}, std::vector<std::string> sources = {},
              std::string domain = "");
  // The same, right before node `before`, or right after node `after`.
  int InsertBefore(int before, std::string op, std::vector<int> inputs,
                   std::vector<std::string> output_names, Attributes attributes = {},
                   std::vector<std::string> sources = {}, std::string domain = "");
  int InsertAfter(int after, std::string op, std::vector<int> inputs,
                  std::vector<std::string> output_names, Attributes attributes = {},
                  std::vector<std::string> sources = {}, std::string domain = "");
  void AddOutput(int value_id, std::string output_name);
  void SetOutput(size_t index, int value_id);

  void SetType(int value_id, ValueType type) { values_[value_id].type = std::move(type); }
  void SetValueName(int value_id, std::string n) { values_[value_id].name = std::move(n); }
  // Makes the input absent with kNone, and grows the list where `index` is past its end.
  void SetInput(int node_id, size_t index, int value_id);
  void SetInputs(int node_id, std::vector<int> inputs);
  void SetAttribute(int node_id, const std::string& attribute, Attribute value);
  void RemoveAttribute(int node_id, const std::string& attribute);
  void SetOp(int node_id, std::string op);
  // Appends those of `sources` that the node does not have yet.
  void AddSources(int node_id, const std::vector<std::string>& sources);
  // Gives node `from`, which is about to go, no sources and node `to` those too: before its own
  // where `from` comes first in the flow of data, else after them.
  void MoveSources(int from, int to, bool first);

  // Every use of `from`, as an input or as an output of the graph, becomes one of `to`.
  void ReplaceUses(int from, int to);
  // The value becomes a constant; its producer loses that output.
  void MakeConstant(int value_id, Tensor tensor);
  // REQUIRES: no output of the node is used.
  void RemoveNode(int node_id);
  // Removes nodes whose results reach no output. Inputs stay. Returns how many went.
  int RemoveDead();
  // Renumbers nodes and values densely, in order, and drops unused constants.
  void Compact();
  // Sorts `order` topologically, stable where it may be. False if there is a cycle.
  bool Sort();

 private:
  int NewValue(std::string name);
  int NewNode(int before, std::string op, std::vector<int> inputs,
              std::vector<std::string> output_names, Attributes attributes,
              std::vector<std::string> sources, std::string domain);
  void Link(int node_id, int before);  // into the order; kNone: at its end
  void Unlink(int node_id);
  void SetOrder(const std::vector<int>& order);
  void PutUse(int value_id, Use use);
  void DropUse(int value_id, Use use);

  std::deque<Node> nodes_;
  std::deque<Value> values_;
  // The order is a list through the nodes; `order_` is its copy as long as `order_valid_`.
  std::vector<int> next_;
  std::vector<int> previous_;
  int first_ = kNone;
  int last_ = kNone;
  mutable std::vector<int> order_;
  mutable bool order_valid_ = true;
  // use_slots_[node][input]: where that use stands in its value's `uses`.
  std::vector<std::vector<int>> use_slots_;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  std::vector<std::string> output_names_;
  std::shared_ptr<const OutsideOps> outside_ops_;
};

}  // namespace temper::graph
