// From the nodes of an ONNX model to nodes of the graph: calls of the model's functions are
// replaced by the functions' bodies, sequences by the tensors in them (sequences.h), control flow
// goes through control_flow.h, everything else through Upgrade.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/outside_op.h"
#include "compiler/import/node_order.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/import/region.h"
#include "compiler/import/sequences.h"
#include "compiler/import/tensor_reader.h"
#include "compiler/import/upgrade.h"

namespace temper::importer {

// Of a model or a node: none that is real comes near, and some work is quadratic in it.
inline constexpr int kMaxOperands = 1 << 14;
// Of the graph once functions and loops are written out.
inline constexpr int kMaxNodes = 1 << 20;
// Shapes that one value may have, or values that vary together.
inline constexpr int64_t kMaxVariants = 256;
// Nodes that are there once more for another shape of what they read.
inline constexpr int64_t kMaxCopies = 4096;
// Of functions in functions and graphs in graphs.
inline constexpr int kMaxDepth = 32;

// What names mean inside the main graph, a nested graph or the body of a function.
struct Scope {
  // Whether it is that of the model's main graph.
  bool IsMain() const { return outer == nullptr && depth == 0; }

  const Scope* outer = nullptr;  // whose names a nested graph may read
  Region* region = nullptr;      // whose graph the values are of; null: the main graph's
  int depth = 0;
  int opset = 1;
  std::string prefix;  // of the names of nodes
  // Names that the scope's nodes read; null outside AddNodes.
  const std::unordered_set<std::string>* read = nullptr;
  const graph::Attributes* arguments = nullptr;  // of the function whose body it is
  std::unordered_map<std::string, int> values;
  std::unordered_map<std::string, Sequence> sequences;

  // The value, looked for around the scope too. kNone if there is none.
  int Find(const std::string& name) const;
  // The same of a sequence; null if there is none.
  const Sequence* FindSequence(const std::string& name) const;
};

struct FlowOptions {
  // A loop is written out where it takes a known number of trips and would give so many nodes at
  // most; larger ones stay loops.
  int64_t unroll = 0;
  // The most trips that a loop may take, by the node's name.
  std::map<std::string, int64_t> max_trips;
};

// A graph that becomes an attribute, and the values around it that its last inputs stand for.
struct NestedGraph {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<int> captured;
};

class GraphBuilder {
 public:
  // All must outlive the builder.
  GraphBuilder(const onnx::ModelProto& model, TensorReader& reader, graph::Graph& graph,
               const FlowOptions& flow);

  // Says which operators of the model, functions and nested graphs among it, are not known.
  Status CheckOperators(const NodeList& nodes) const;

  // Adds the nodes in their order; scope.values has the inputs and constants, and gets the nodes'
  // outputs. `outputs`: the names that are read afterwards.
  Status AddNodes(const NodeList& nodes, const std::vector<std::string>& outputs, Scope& scope);

  // Adds a nested graph once, its inputs being `inputs`. Returns the values of its outputs.
  Result<std::vector<int>> AddBody(const onnx::GraphProto& body, const std::vector<int>& inputs,
                                   const Scope& outer, const std::string& prefix);

  // What `build` adds meanwhile, by AddBody and graph(), goes to a new graph. It returns names and
  // values of the new graph's outputs. An error if a value that they need has no known extents.
  using Outputs = std::vector<std::pair<std::string, int>>;
  Result<NestedGraph> BuildNested(const std::string& name,
                                  const std::function<Result<Outputs>()>& build);
  // A value of the graph around the one being built, as a value of this one.
  int Capture(int outer) { return Capture(outer, region_->outer, region_); }
  // The same of a value of the graph of `from`, which is `to` or around it.
  int Capture(int value, const Region* from, Region* to);

  Region* region() const { return region_; }
  // Nodes go to that graph from then on. Returns where they went.
  Region* Enter(Region* region) { return std::exchange(region_, region); }
  // Removes what no output needs. An error if a value that they need has no known extents.
  static Status FinishNested(graph::Graph& nested);
  // What the value may be, where that is more than one thing; null where it is not.
  const Varying* FindVarying(int value) const;
  // One node, as AddNodes does. `outputs`: the names that are read afterwards.
  Status AddNode(const onnx::NodeProto& node, const std::string& name,
                 const std::unordered_set<std::string>& read, Scope& scope);
  // How much was added so far: nodes, those of functions and nested graphs among them, and how many
  // of these are copies.
  struct Count {
    int64_t nodes = 0, copies = 0;
  };
  Count count() const { return {nodes_read_ - nodes_dropped_, copies_}; }
  // What was added since then came to nothing.
  void Forget(const Count& since) {
    nodes_dropped_ = nodes_read_ - since.nodes;
    copies_ = since.copies;
  }
  // Nodes since then that are not counted as copies.
  int64_t PlainSince(const Count& since) const {
    return count().nodes - since.nodes - (copies_ - since.copies);
  }
  // Counts nodes that are there once more for another shape. An error if there are too many; `what`
  // says which.
  Status CountCopies(int64_t nodes, const std::string& what);
  // Things that the user should know.
  void Warn(std::string text) { warnings_.push_back(std::move(text)); }
  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }
  // The values that a node reads and that are of several shapes.
  std::vector<int> VaryingReads(const onnx::NodeProto& node, const Scope& scope);
  // The value of the name in the graph that nodes are added to.
  int Lookup(const Scope& scope, const std::string& name);

  // The graph that nodes are added to.
  graph::Graph& graph() { return *region_->graph; }
  TensorReader& reader() { return reader_; }
  const FlowOptions& flow() const { return flow_; }
  // The --max-trips of the node; -1 if there is none.
  int64_t MaxTrips(const std::string& name);
  // `added`, how adding the nodes went; an error if --max-trips names what is no loop.
  Status CheckMaxTrips(const Status& added) const;

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  Status AddInOrder(const NodeList& nodes, std::vector<int> order,
                    const std::vector<std::string>& outputs,
                    const std::unordered_set<std::string>& live, Scope& scope);
  const onnx::FunctionProto* FindFunction(const onnx::NodeProto& node) const;
  // A node of an outside project's operator.
  Result<std::vector<int>> AddOutside(const graph::OutsideOp& op, SourceNode source);
  Result<std::vector<int>> AddCall(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                   const std::string& name, const std::vector<int>& inputs,
                                   const Scope& scope);
  // A node that makes or reads sequences: its result joins the scope.
  Status AddSequence(const onnx::NodeProto& node, const std::string& name, Scope& scope);
  // Functions that are called there for the first time join `called`: they may be a long chain.
  void CollectUnknown(const NodeList& nodes,
                      std::map<std::string, std::pair<int, std::string>>& unknown,
                      std::unordered_set<const onnx::FunctionProto*>& seen,
                      std::vector<const onnx::FunctionProto*>& called) const;

  // Of a sequence, as Lookup. REQUIRES: scope.FindSequence(name).
  Sequence LookupSequence(const Scope& scope, const std::string& name);

  TensorReader& reader_;
  int64_t sequence_tensors_ = 0;  // in all sequences together
  const FlowOptions& flow_;
  std::unordered_set<std::string> bounded_loops_;  // that asked for their --max-trips
  Region main_;
  Region* region_ = &main_;
  int64_t nodes_read_ = 0;
  int64_t nodes_dropped_ = 0;  // of those read
  int64_t copies_ = 0;
  std::vector<std::string> warnings_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::map<std::string, int64_t> domain_versions_;  // of domains other than ONNX's
};

// The opset of ONNX's own operators that a list of imports names; `absent` if it names none.
int OpsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
            int absent);

}  // namespace temper::importer
