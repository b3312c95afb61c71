// If, Loop and Scan as nodes with nested graphs (graph/control_flow.h).
//
// A status says why that cannot be: mostly that a shape inside follows from the number of the trip,
// or that what a loop carries changes its type. What of it is then left behind nothing reads.
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
  graph::Shape condition_shape;
  std::vector<int> given;       // the initial values of the node, also of what it does not carry
  std::vector<size_t> carried;  // the outputs of the node that are in `initial`
  size_t row_outputs = 0;       // of the node
  // Those outputs of the node that are rows and that something reads, and the types of these rows.
  std::vector<size_t> rows;
  std::vector<graph::ValueType> row_types;
  bool counts = false;  // it gives the number of trips too, because rows vary with it

  // The most trips that it takes, or -1. `graph`: the one around it.
  int64_t MostTrips(const graph::Graph& graph) const;
  // Whether it takes just as many.
  bool IsExact(const graph::Graph& graph) const;
};

class NativeFlow {
 public:
  // `u` holds the node; all must outlive this object.
  NativeFlow(GraphBuilder& builder, Upgrader& u, const Scope& scope)
      : builder_(builder), u_(u), scope_(scope) {}

  // The vectors are the values of the node's outputs.
  Result<std::vector<int>> If(const onnx::GraphProto& yes, const onnx::GraphProto& no);
  // All but the body.
  Result<LoopParts> LoopOperands();
  Result<LoopParts> PrepareLoop(const onnx::GraphProto& body);
  // The values of the outputs; kNone for rows that nothing reads.
  Result<std::vector<int>> AddLoop(LoopParts parts);
  Result<std::vector<int>> Scan(const onnx::GraphProto& body, const ScanWalk& walk);

  // A loop of which something changes its shape from trip to trip: its body once for each.
  Result<std::vector<int>> VaryingLoop(const onnx::GraphProto& body);

 private:
  friend class VaryingLoopBuilder;
  using Outputs = GraphBuilder::Outputs;

  // The loop with those carried values; the others are as they are initially in the body too.
  Result<LoopParts> PrepareLoop(const onnx::GraphProto& body, const std::vector<bool>& keep);
  // Which of the carried values change and are needed.
  std::vector<bool> NeedsCarried(const LoopParts& parts) const;
  // A true of the shape of the loop's condition: what the body finds there.
  int Holds(const LoopParts& parts);
  // An error if one of the values of the graph being built varies.
  Status CheckOfOneShape(const Outputs& outputs);
  // Whether output i may be of open extents: it is an output of the model, and no node reads it.
  bool MayBeOpen(size_t i) const;
  // A node with outputs of those names.
  Result<std::vector<int>> AddNode(const std::string& op, std::vector<int> inputs,
                                   std::vector<std::string> outputs, graph::Attributes attributes);
  // Inputs of the nested graph: the number of the trip, then the carried values, the `which` of the
  // body's from `first_name` on.
  Result<std::vector<int>> AddLoopInputs(const graph::Graph& outer, const onnx::GraphProto& body,
                                         const std::vector<int>& initial,
                                         const std::vector<size_t>& which, int first_name);
  Result<Outputs> AddBody(const onnx::GraphProto& body, const std::vector<int>& inputs,
                          const std::string& part);

  GraphBuilder& builder_;
  Upgrader& u_;
  const Scope& scope_;
};

}  // namespace temper::importer
