// If, Loop and Scan as nodes with nested graphs (graph/control_flow.h).
//
// A status says why that cannot be: mostly that a shape inside follows from the number of the trip,
// or that what a loop carries changes its type. Nothing is then left behind in the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"
#include "compiler/import/upgrader.h"

namespace temper::importer {

// How a Scan walks its operands and stacks its rows.
struct ScanWalk {
  int64_t carried = 0;
  int64_t length = 0;
  std::vector<int64_t> in_axes, in_directions;    // one an operand; axes not negative
  std::vector<int64_t> out_axes, out_directions;  // one a row; axes as the model has them
};

// A Loop before its node is added.
struct LoopParts {
  int trips = graph::kNone, condition = graph::kNone;
  std::vector<int> initial;
  int64_t max_trips = -1;
  NestedGraph body;
  bool conditional = false;  // the body may end it
};

class NativeFlow {
 public:
  // `u` holds the node; all must outlive this object.
  NativeFlow(GraphBuilder& builder, Upgrader& u, const Scope& scope)
      : builder_(builder), u_(u), scope_(scope) {}

  // The vectors are the values of the node's outputs.
  Result<std::vector<int>> If(const onnx::GraphProto& yes, const onnx::GraphProto& no);
  Result<LoopParts> PrepareLoop(const onnx::GraphProto& body);
  Result<std::vector<int>> AddLoop(LoopParts parts);
  Result<std::vector<int>> Scan(const onnx::GraphProto& body, const ScanWalk& walk);

 private:
  using Outputs = GraphBuilder::Outputs;

  Result<std::vector<int>> AddNode(const std::string& op, std::vector<int> inputs, size_t outputs,
                                   graph::Attributes attributes);
  Result<NestedGraph> Branch(const onnx::GraphProto& body, const std::string& part);
  // Inputs of the nested graph: the number of the trip, then the carried values.
  Result<std::vector<int>> AddLoopInputs(const graph::Graph& outer, const onnx::GraphProto& body,
                                         const std::vector<int>& initial, int first_name);
  Result<Outputs> AddBody(const onnx::GraphProto& body, const std::vector<int>& inputs,
                          const std::string& part);

  GraphBuilder& builder_;
  Upgrader& u_;
  const Scope& scope_;
};

}  // namespace temper::importer
