// From the nodes of an ONNX model to nodes of the graph: calls of the model's functions are
// replaced by the functions' bodies, control flow by what it does (control_flow.h), sequences by
// the tensors in them (sequences.h), everything else goes through Upgrade.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/outside_op.h"
#include "compiler/import/node_order.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/import/sequences.h"
#include "compiler/import/tensor_reader.h"
#include "compiler/import/upgrade.h"

namespace temper::importer {

// Of a model or a node: none that is real comes near, and some work is quadratic in it.
inline constexpr int kMaxOperands = 1 << 14;
// Of the graph once functions and loops are written out.
inline constexpr int kMaxNodes = 1 << 20;
// Of functions in functions and graphs in graphs.
inline constexpr int kMaxDepth = 32;

// What names mean inside the main graph, a nested graph or the body of a function.
struct Scope {
  const Scope* outer = nullptr;  // whose names a nested graph may read
  int depth = 0;
  int opset = 1;
  std::string prefix;                            // of the names of nodes
  const graph::Attributes* arguments = nullptr;  // of the function whose body it is
  std::unordered_map<std::string, int> values;
  std::unordered_map<std::string, Sequence> sequences;

  // The value, looked for around the scope too. kNone if there is none.
  int Find(const std::string& name) const;
  // The same of a sequence; null if there is none.
  const Sequence* FindSequence(const std::string& name) const;
};

class GraphBuilder {
 public:
  // All must outlive the builder.
  GraphBuilder(const onnx::ModelProto& model, TensorReader& reader, graph::Graph& graph);

  // Says which operators of the model, functions and nested graphs among it, are not known.
  Status CheckOperators(const NodeList& nodes) const;

  // Adds the nodes in their order; scope.values has the inputs and constants, and gets the nodes'
  // outputs. `outputs`: the names that are read afterwards.
  Status AddNodes(const NodeList& nodes, const std::vector<std::string>& outputs, Scope& scope);

  // Adds a nested graph once, its inputs being `inputs`. Returns the values of its outputs.
  Result<std::vector<int>> AddBody(const onnx::GraphProto& body, const std::vector<int>& inputs,
                                   const Scope& outer, const std::string& prefix);

  graph::Graph& graph() { return graph_; }
  TensorReader& reader() { return reader_; }

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  const onnx::FunctionProto* FindFunction(const onnx::NodeProto& node) const;
  Status AddNode(const onnx::NodeProto& node, const std::string& name,
                 const std::unordered_set<std::string>& read, Scope& scope);
  // A node of an outside project's operator.
  Result<std::vector<int>> AddOutside(const graph::OutsideOp& op, SourceNode source);
  Result<std::vector<int>> AddCall(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                   const std::string& name, const std::vector<int>& inputs,
                                   const Scope& scope);
  // A node that makes or reads sequences: its result joins the scope.
  Status AddSequence(const onnx::NodeProto& node, const std::string& name, Scope& scope);
  void CollectUnknown(const NodeList& nodes,
                      std::map<std::string, std::pair<int, std::string>>& unknown,
                      std::unordered_set<const onnx::FunctionProto*>& seen) const;

  TensorReader& reader_;
  graph::Graph& graph_;
  int64_t sequence_tensors_ = 0;  // in all sequences together
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::map<std::string, int64_t> domain_versions_;  // of domains other than ONNX's
};

// The opset of ONNX's own operators that a list of imports names; `absent` if it names none.
int OpsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
            int absent);

}  // namespace temper::importer
