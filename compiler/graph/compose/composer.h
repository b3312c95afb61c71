// What a composition is written with: it appends nodes in front of the one that it replaces.
//
// The first error is kept and ends the work: after it every call does nothing and gives kNone, so
// that compositions read as expressions. Types follow by inference at once. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/infer/resize.h"

namespace temper::graph {

class Composer {
 public:
  // REQUIRES: the types of the node's inputs and outputs are static.
  Composer(Graph& graph, int node_id)
      : graph_(graph), id_(node_id), node_(graph.node(node_id)), status_(OkStatus()) {}

  // A copy: adding nodes does not change it.
  const Node& node() const { return node_; }
  int In(size_t i) const { return node_.Input(i); }
  bool Has(size_t i) const { return node_.HasInput(i); }
  bool Wants(size_t output) const { return node_.Output(output) != kNone; }
  const Tensor* Constant(size_t i) const { return graph_.ConstantInput(node_, i); }
  const Tensor* ConstantValue(int value) const {
    return value == kNone ? nullptr : graph_.value(value).constant.get();
  }
  Shape OutShape(size_t i = 0) const { return graph_.shape(node_.outputs[i]); }
  // Of a value; empty and float32 for kNone, after an error.
  Shape shape(int value) const { return value == kNone ? Shape() : graph_.shape(value); }
  DType dtype(int value) const {
    return value == kNone ? DType::kFloat32 : *graph_.type(value).dtype;
  }
  int64_t rank(int value) const { return static_cast<int64_t>(shape(value).size()); }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  // The node cannot be computed: "Conv 'x': what".
  void Refuse(const std::string& what);
  // The same for an error that happened elsewhere.
  void Refuse(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // --- Nodes -----------------------------------------------------------------------------------

  // The first result of a new node.
  int Op(const std::string& op, std::vector<int> inputs, Attributes attributes = {});
  // All `count` results.
  std::vector<int> Ops(const std::string& op, std::vector<int> inputs, int count,
                       Attributes attributes = {});
  int Add(int a, int b) { return Op("Add", {a, b}); }
  int Sub(int a, int b) { return Op("Sub", {a, b}); }
  int Mul(int a, int b) { return Op("Mul", {a, b}); }
  int Div(int a, int b) { return Op("Div", {a, b}); }
  int MatMul(int a, int b) { return Op("MatMul", {a, b}); }
  int Where(int condition, int a, int b) { return Op("Where", {condition, a, b}); }
  // Nothing is added where the value is already so.
  int Cast(int x, DType to);
  int Reshape(int x, const Shape& to);
  int Transpose(int x, std::vector<int64_t> perm);
  int Expand(int x, const Shape& to);
  int Unsqueeze(int x, const std::vector<int64_t>& axes);
  int Slice(int x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  int Concat(std::vector<int> inputs, int64_t axis);
  int Gather(int x, int indices, int64_t axis);
  // Reduce*, over axes from the front; keeps dimensions.
  int Reduce(const std::string& op, int x, const std::vector<int64_t>& axes, bool keep = true);

  // --- Constants -------------------------------------------------------------------------------

  int Ints(const std::vector<int64_t>& values);
  int IntsOfShape(const Shape& shape, const std::vector<int64_t>& values);
  int Number(DType dtype, double value) { return Numbers(dtype, {}, {value}); }
  int Numbers(DType dtype, const Shape& shape, const std::vector<double>& values);
  // A scalar of the type of `like`.
  int NumberLike(int like, double value) { return Number(dtype(like), value); }
  // The axis from the front; refuses one that is out of range.
  int64_t Axis(int64_t axis, int64_t rank);

  // What a Resize node's operands say; refuses where they are not constant.
  std::vector<ResizeAxis> ResizeAxesOfNode();

  // --- The end ---------------------------------------------------------------------------------

  // What reads output `i` of the node reads `value` from now on.
  void Replace(size_t i, int value);
  // Takes the node away. INTERNAL if an output that is read was not replaced.
  Status Finish();

 private:
  Graph& graph_;
  const int id_;
  const Node node_;
  Status status_;
};

}  // namespace temper::graph
