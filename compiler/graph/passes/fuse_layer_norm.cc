#include "compiler/graph/passes/fuse_layer_norm.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace temper::graph {
namespace {

struct Normalized {
  int x = kNone;
  size_t axis = 0;  // the first of the normalized dimensions
  double epsilon = 0;
  std::vector<int> nodes;  // in the order of the flow, without the last
};

// Of rows whose scale may have to be written out.
constexpr int64_t kMaxInner = int64_t{1} << 24;

int64_t InnerCount(const Graph& graph, const Normalized& found) {
  const Shape shape = graph.shape(found.x);
  return *ElementCount(std::span(shape).subspan(found.axis));
}

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  // What `id` computes, if it is the last node of a normalization without scale and bias.
  std::optional<Normalized> Match(int id) {
    const Node& node = graph_.node(id);
    found_ = {};
    if (node.Is("Div")) {
      const Node* root = Producer(node.inputs[1], "Sqrt");
      if (root != nullptr && Quotient(node.inputs[0], *root)) return found_;
    }
    if (!node.Is("Mul")) return std::nullopt;
    for (int side : {0, 1}) {
      const Node* inverse = Producer(node.inputs[1 - side], "Reciprocal");
      const Node* root = inverse == nullptr ? nullptr : Producer(inverse->inputs[0], "Sqrt");
      found_ = {};
      if (root == nullptr || !Quotient(node.inputs[side], *root)) continue;
      found_.nodes.push_back(inverse->id);
      return found_;
    }
    return std::nullopt;
  }

 private:
  const Node* Producer(int value, std::string_view op) const {
    const Node* node = value == kNone ? nullptr : graph_.ProducerOf(value);
    return node != nullptr && node->Is(op) ? node : nullptr;
  }

  const Tensor* Scalar(int value) const {
    const auto& constant = graph_.value(value).constant;
    return constant != nullptr && constant->size() == 1 ? constant.get() : nullptr;
  }

  // The mean of `value` over its last dimensions, which stay with extent 1.
  const Node* Mean(int value, size_t* axis) const {
    const Node* node = Producer(value, "ReduceMean");
    if (node == nullptr || node->Int("keepdims", 1) == 0) return nullptr;
    const Tensor* tensor = graph_.ConstantInput(*node, 1);
    if (tensor == nullptr || tensor->size() == 0) return nullptr;
    const int64_t rank = static_cast<int64_t>(graph_.type(node->inputs[0]).dims.size());
    if (tensor->size() > rank) return nullptr;
    std::vector<int64_t> axes = tensor->AsInts(), last(axes.size());
    for (int64_t& a : axes) a += a < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    std::iota(last.begin(), last.end(), rank - static_cast<int64_t>(axes.size()));
    if (axes != last) return nullptr;
    *axis = static_cast<size_t>(axes[0]);
    return node;
  }

  // centred / root, where root is of the mean square of centred plus a constant.
  bool Quotient(int centred, const Node& root) {
    const Node* sub = Producer(centred, "Sub");
    const Node* add = Producer(root.inputs[0], "Add");
    if (sub == nullptr || add == nullptr) return false;
    for (int side : {0, 1}) {
      const Tensor* epsilon = Scalar(add->inputs[1 - side]);
      size_t axis = 0, square_axis = 0;
      const Node* variance = Mean(add->inputs[side], &square_axis);
      const Node* mean = Mean(sub->inputs[1], &axis);
      if (epsilon == nullptr || variance == nullptr || mean == nullptr || axis != square_axis ||
          mean->inputs[0] != sub->inputs[0]) {
        continue;
      }
      const Node* square = Square(variance->inputs[0], centred);
      const double value = epsilon->DoubleAt(0);
      if (square == nullptr || !(value >= 0)) continue;
      const ValueType& type = graph_.type(sub->inputs[0]);
      if (!type.IsStatic() || !IsFloat(*type.dtype)) continue;
      found_ = {sub->inputs[0],
                axis,
                value,
                {mean->id, sub->id, square->id, variance->id, add->id, root.id}};
      return true;
    }
    return false;
  }

  const Node* Square(int value, int of) const {
    if (const Node* mul = Producer(value, "Mul")) {
      return mul->inputs[0] == of && mul->inputs[1] == of ? mul : nullptr;
    }
    const Node* pow = Producer(value, "Pow");
    if (pow == nullptr || pow->inputs[0] != of) return nullptr;
    const Tensor* exponent = Scalar(pow->inputs[1]);
    return exponent != nullptr && exponent->DoubleAt(0) == 2 ? pow : nullptr;
  }

  const Graph& graph_;
  Normalized found_;
};

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph) {}

  void Fuse(int id, Normalized found) {
    const int x = found.x;
    const Shape shape = graph_.shape(x);
    const Shape inner(shape.begin() + static_cast<long>(found.axis), shape.end());
    int scale = kNone, bias = kNone, last = id;
    found.nodes.push_back(id);
    if (const auto next = Next(last, "Mul", inner, &scale)) found.nodes.push_back(last = *next);
    if (const auto next = Next(last, "Add", inner, &bias)) found.nodes.push_back(last = *next);
    const int y = graph_.node(last).outputs[0];
    if (scale == kNone) {
      const DType dtype = *graph_.type(x).dtype;
      const std::vector<double> ones(static_cast<size_t>(*ElementCount(inner)), 1);
      scale =
          graph_.AddConstant(graph_.value(y).name + ".scale", MakeFromDoubles(dtype, inner, ones));
    }
    const int made =
        graph_.InsertBefore(last, "LayerNormalization", {x, scale, bias}, {graph_.value(y).name},
                            {{"axis", static_cast<int64_t>(found.axis)},
                             {"epsilon", static_cast<float>(found.epsilon)}});
    for (int node : found.nodes) graph_.AddSources(made, graph_.node(node).sources);
    const int result = graph_.node(made).outputs[0];
    graph_.SetType(result, graph_.type(y));
    graph_.ReplaceUses(y, result);
  }

 private:
  // The node that alone reads the result of `id`, if it is `op` with a constant of shape `inner`.
  std::optional<int> Next(int id, std::string_view op, const Shape& inner, int* constant) {
    const int value = graph_.node(id).outputs[0];
    const Use* use = graph_.OnlyUse(value);
    if (use == nullptr || !graph_.node(use->node).Is(op)) return std::nullopt;
    const Node& node = graph_.node(use->node);
    const int other = node.inputs[1 - use->input];
    const auto& tensor = graph_.value(other).constant;
    if (tensor == nullptr || tensor->dtype != *graph_.type(value).dtype) return std::nullopt;
    Shape shape = tensor->shape;
    while (shape.size() > inner.size() && shape[0] == 1) shape.erase(shape.begin());
    if (shape != inner || graph_.type(node.outputs[0]) != graph_.type(value)) return std::nullopt;
    *constant = other;
    if (tensor->shape != inner) {
      Tensor same = *tensor;
      same.shape = inner;
      *constant = graph_.AddConstant(graph_.value(other).name, std::move(same));
    }
    return use->node;
  }

  Graph& graph_;
};

}  // namespace

Status RunFuseLayerNorm(Graph& graph) {
  const std::vector<int> order = graph.order();
  Matcher matcher(graph);
  Fuser fuser(graph);
  bool any = false;
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    auto found = matcher.Match(id);
    if (found && InnerCount(graph, *found) <= kMaxInner) {
      fuser.Fuse(id, *std::move(found));
      any = true;
    }
  }
  if (any) graph.RemoveDead();
  return OkStatus();
}

}  // namespace temper::graph
