// Turns graph nodes into stages of one te::Program.
//
// An Emitter is made for one kernel. Add() is called for its nodes in topological order; the
// builder of the node's operator (op_table.h) appends stages. Values that no earlier node of the
// kernel computed become inputs of the program when a stage first reads them, so that the order
// of the inputs follows from the nodes alone. A constant of one element never becomes an input:
// it is embedded in the bodies. Constants that ONNX passes as inputs but that shape the operator
// (Reshape's shape, Slice's starts) are read while building and do not appear either.
//
// Not thread-safe. The graph must outlive the Emitter and stay unchanged.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/halo.h"
#include "compiler/te/program.h"

namespace temper::ops {

using Indices = std::vector<tir::Expr>;
using PointBody = std::function<tir::Expr(const Indices& point)>;
using ReduceBody = std::function<tir::Expr(const Indices& point, const Indices& reduced)>;

class Emitter {
 public:
  Emitter(const graph::Graph& graph, const Halos& halos) : graph_(graph), halos_(halos) {}

  // Appends the stages of one node. UNIMPLEMENTED or INVALID_ARGUMENT, naming the node, where the
  // operator or this use of it is not supported. Types of the node's values must be static.
  Status Add(int node_id);

  // Makes `value`, computed by a node added before, an output of the program, with its halo.
  void AddOutput(int value);

  const te::Program& program() const { return program_; }
  te::Program TakeProgram() { return std::move(program_); }
  // The graph values of program().inputs, in that order.
  const std::vector<int>& input_values() const { return input_values_; }

  // --- For builders ----------------------------------------------------------------------------

  const graph::Graph& graph() const { return graph_; }
  const graph::Node& node() const { return *node_; }
  int Input(size_t i) const { return node_->Input(i); }
  bool HasInput(size_t i) const { return node_->HasInput(i); }
  int Output(size_t i) const { return node_->Output(i); }
  DType dtype(int value) const { return *graph_.type(value).dtype; }
  graph::Shape shape(int value) const { return graph_.shape(value); }
  // The dimension that holds the channels of the node's image operands: 1, or the last one for
  // the channels-last forms (domain "temper").
  int ChannelAxis(int rank) const { return node_->domain == "temper" ? rank - 1 : 1; }

  // The program's tensor that holds `value`.
  int TensorOf(int value);
  // One element of `value`.
  tir::Expr Read(int value, std::span<const tir::Expr> indices);
  // The element of `value` that numpy's broadcasting pairs with `point` of a result of at least
  // its rank.
  tir::Expr ReadBroadcast(int value, std::span<const tir::Expr> point);
  tir::Expr ReadTensor(int tensor, std::span<const tir::Expr> indices) const {
    return program_.Read(tensor, indices);
  }

  // Add a stage over `shape` and return its tensor. The stage is named after the node's first
  // output, with `suffix` behind it.
  int AddPoints(const graph::Shape& shape, const std::string& suffix, const PointBody& body);
  int AddReduction(const graph::Shape& shape, const graph::Shape& reduced, te::Combiner combiner,
                   const std::string& suffix, const ReduceBody& body);

  // Says that `tensor` holds `value`. Nothing if `value` is kNone.
  void Define(int value, int tensor);
  // A stage over the shape of output `i`, which it defines.
  void DefinePoints(size_t i, const PointBody& body);

  // Integers of a constant input, for operators that need them to be built. FAILED_PRECONDITION,
  // naming the node and `what`, if the input is not constant.
  Result<std::vector<int64_t>> ConstantInts(size_t i, const std::string& what) const;
  // "Conv 'x': message".
  Status Refuse(const std::string& message) const;

 private:
  Status CheckTypes() const;
  std::string StageName() const;  // the node's first output's

  const graph::Graph& graph_;
  const Halos& halos_;
  const graph::Node* node_ = nullptr;
  te::Program program_;
  std::vector<int> input_values_;
  std::map<int, int> tensors_;  // by value
};

// `x` as a number of that type.
inline tir::Expr As(DType type, const tir::Expr& x) {
  return x->type().dtype == type ? x : tir::Cast(type, x);
}

// The type in which sums over elements of `dtype` are kept: float32 for narrower floats.
DType AccumulatorType(DType dtype);

}  // namespace temper::ops
