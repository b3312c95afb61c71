#include "compiler/partition/channels_last.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/ops/op_table.h"
#include "compiler/partition/layout.h"

namespace temper::partition {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Shape;

template <typename T>
std::vector<T> Permuted(const std::vector<T>& v, const std::vector<int64_t>& perm) {
  std::vector<T> out;
  for (int64_t d : perm) out.push_back(v[d]);
  return out;
}

// Where axis `a` of a channels-first tensor lies in the channels-last one.
int64_t MovedAxis(int64_t a, size_t rank) {
  if (a < 0) a += static_cast<int64_t>(rank);
  return a == 0 ? 0 : a == 1 ? static_cast<int64_t>(rank) - 1 : a - 1;
}

graph::Tensor TransposedTensor(const graph::Tensor& from, const std::vector<int64_t>& perm) {
  std::byte* out = nullptr;
  graph::Tensor to = graph::MakeTensor(from.dtype, Permuted(from.shape, perm), &out);
  const size_t rank = from.shape.size();
  std::vector<int64_t> strides(rank, 1), at(rank, 0);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * from.shape[d];
  const std::vector<int64_t> moved = Permuted(strides, perm);
  const int64_t width = ByteSize(from.dtype), count = from.size();
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += at[d] * moved[d];
    std::memcpy(out + i * width, from.data + offset * width, width);
    for (size_t d = rank; d-- > 0;) {
      if (++at[d] < to.shape[d]) break;
      at[d] = 0;
    }
  }
  return to;
}

// Integers of a constant input or, where it is absent, `absent`; nothing if it is computed.
std::optional<std::vector<int64_t>> Integers(const Graph& graph, const Node& node, size_t i,
                                             std::vector<int64_t> absent) {
  if (!node.HasInput(i)) return absent;
  const graph::Tensor* tensor = graph.ConstantInput(node, i);
  if (tensor == nullptr) return std::nullopt;
  return tensor->AsInts();
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const std::set<int>& stay) : graph_(graph), stay_(stay) {}

  Status Run() {
    const std::vector<int> order = graph_.order();
    for (int id : order) Visit(id);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const int value = graph_.outputs()[i];
      if (moved_.count(value)) graph_.SetOutput(i, First(value, kNone));
    }
    graph_.RemoveDead();
    return OkStatus();
  }

 private:
  // --- Values in both layouts ------------------------------------------------------------------

  size_t Rank(int value) const { return graph_.type(value).dims.size(); }
  DType TypeOf(int value) const { return *graph_.type(value).dtype; }
  bool HasLast(int value) const { return value != kNone && last_.count(value) != 0; }
  // Whether a reader of the value takes its channels-last form. A tensor of three dimensions that
  // has both is as likely a sequence whose rows the model transposed: its readers want the rows.
  bool Leads(int value) const {
    return HasLast(value) && (moved_.count(value) != 0 || Rank(value) > 3);
  }

  // Whether both layouts have their elements in the same order. `shape` is channels-first.
  static bool SameOrder(const Shape& shape) {
    int64_t pixels = 1;
    for (size_t d = 2; d < shape.size(); ++d) pixels *= shape[d];
    return shape[1] == 1 || pixels == 1;
  }

  int Insert(int before, const std::string& op, std::vector<int> inputs, const std::string& name,
             Attributes attributes, const Shape& shape) {
    const DType type = TypeOf(inputs[0]);
    const int id =
        before == kNone
            ? graph_.AddNode(op, std::move(inputs), {name}, std::move(attributes))
            : graph_.InsertBefore(before, op, std::move(inputs), {name}, std::move(attributes));
    const int value = graph_.node(id).outputs[0];
    graph_.SetType(value, graph::TensorType(type, shape));
    return value;
  }

  int InsertPermuted(int before, int value, const std::string& name, const Shape& first_shape,
                     const Shape& to, const std::vector<int64_t>& perm) {
    if (!SameOrder(first_shape))
      return Insert(before, "Transpose", {value}, name, {{"perm", perm}}, to);
    // A Reshape in front of it changes nothing that this one does not.
    const Node* producer = graph_.ProducerOf(value);
    if (producer != nullptr && producer->Is("Reshape")) value = producer->inputs[0];
    const int shape =
        graph_.AddConstant(name + ".shape", graph::MakeInts({static_cast<int64_t>(to.size())}, to));
    return Insert(before, "Reshape", {value, shape}, name, {}, to);
  }

  // The channels-last form of `value`; made before node `before` if there is none yet.
  int Last(int value, int before) {
    if (auto found = last_.find(value); found != last_.end()) return found->second;
    const Shape shape = graph_.shape(value);
    const std::vector<int64_t> perm = ToLast(shape.size());
    const std::string name = graph_.value(value).name + ".last";
    int last = kNone;
    if (graph_.value(value).IsConstant()) {
      last = graph_.AddConstant(name, TransposedTensor(*graph_.value(value).constant, perm));
    } else {
      last = InsertPermuted(before, value, name, shape, Permuted(shape, perm), perm);
    }
    return last_[value] = last;
  }

  // The value itself, or what gives it back from its channels-last form.
  int First(int value, int before) {
    if (!moved_.count(value)) return value;
    if (auto found = first_.find(value); found != first_.end()) return found->second;
    const Shape shape = graph_.shape(value);
    const int first = InsertPermuted(before, last_.at(value), graph_.value(value).name, shape,
                                     shape, ToFirst(shape.size()));
    return first_[value] = first;
  }

  // --- Nodes -----------------------------------------------------------------------------------

  // A copy of node `id` that computes its outputs in channels-last order.
  void Move(int id, std::vector<int> inputs, Attributes attributes, const std::string& op = "",
            const std::string& domain = "") {
    const Node old = graph_.node(id);
    std::vector<std::string> names;
    for (int v : old.outputs) names.push_back(v == kNone ? "" : graph_.value(v).name);
    const int made = graph_.InsertBefore(id, op.empty() ? old.op : op, std::move(inputs), names,
                                         std::move(attributes), old.sources, domain);
    for (size_t i = 0; i < old.outputs.size(); ++i) {
      const int v = old.outputs[i];
      if (v == kNone) continue;
      const int last = graph_.node(made).outputs[i];
      const Shape shape = graph_.shape(v);
      graph_.SetType(last, graph::TensorType(TypeOf(v), Permuted(shape, ToLast(shape.size()))));
      last_[v] = last;
      moved_.insert(v);
    }
  }

  void Stay(int id) {
    const std::vector<int> inputs = graph_.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != kNone && moved_.count(inputs[i])) {
        graph_.SetInput(id, i, First(inputs[i], id));
      }
    }
  }

  void Visit(int id) {
    const Node node = graph_.node(id);
    const ops::OpEntry* entry = ops::FindBuilder(node);
    const int x = node.Input(0), y = node.Output(0);
    if (entry == nullptr || x == kNone || y == kNone || !node.domain.empty()) return Stay(id);
    const size_t rank = Rank(x);
    const bool image =
        node.Is("Conv") || node.Is("ConvTranspose") || node.Is("MaxPool") || node.Is("AveragePool");
    if (stay_.count(id)) return Stay(id);
    if (entry->channels_last && rank >= 3 && (image || Leads(x))) {
      std::vector<int> inputs = node.inputs;
      for (size_t i = 1; i < inputs.size(); ++i) {
        if (inputs[i] != kNone) inputs[i] = First(inputs[i], id);
      }
      inputs[0] = Last(x, id);
      return Move(id, std::move(inputs), node.attributes, "", "temper");
    }
    bool moved = false;
    if (node.Is("Transpose")) {
      moved = VisitTranspose(id);
    } else if (entry->build == ops::BuildReshape) {
      if (moved_.count(x) && SameOrder(graph_.shape(x))) {
        graph_.SetInput(id, 0, last_.at(x));
        moved = true;
      }
    } else if (rank >= 3 && (node.Is("GlobalAveragePool") || node.Is("GlobalMaxPool"))) {
      moved = VisitGlobalPool(id);
    } else if (node.op.rfind("Reduce", 0) == 0) {
      moved = VisitReduce(id);
    } else if (entry->kind == ops::OpKind::kElementwise || node.Is("Concat")) {
      moved = VisitFollowing(id);
    } else if (Leads(x) && rank >= 3 && Rank(y) == rank) {
      moved = VisitAxes(id);
    }
    if (!moved) Stay(id);
  }

  bool VisitTranspose(int id) {
    const Node node = graph_.node(id);
    const int x = node.inputs[0], y = node.outputs[0];
    const size_t rank = Rank(x);
    const std::vector<int64_t> perm = node.Ints("perm");
    if (rank < 3 || perm.size() != rank) return false;
    if (HasLast(x)) {
      // y[i] is dimension perm[i] of x, which is dimension to_first[perm[i]] of its other form.
      const std::vector<int64_t> composed = Permuted(ToFirst(rank), perm);
      if (std::is_sorted(composed.begin(), composed.end())) {
        graph_.ReplaceUses(y, last_.at(x));
        return true;
      }
      if (!moved_.count(x)) return false;
      graph_.SetInput(id, 0, last_.at(x));
      graph_.SetAttribute(id, "perm", composed);
      return true;
    }
    if (perm == ToFirst(rank)) last_[y] = x;
    return false;
  }

  bool VisitGlobalPool(int id) {
    const Node node = graph_.node(id);
    if (!HasLast(node.inputs[0])) return false;
    std::vector<int64_t> axes(Rank(node.inputs[0]) - 2);
    std::iota(axes.begin(), axes.end(), 1);
    const int constant =
        graph_.AddConstant(graph_.value(node.outputs[0]).name + ".axes",
                           graph::MakeInts({static_cast<int64_t>(axes.size())}, axes));
    Move(id, {Last(node.inputs[0], id), constant}, {{"keepdims", int64_t{1}}},
         node.op == "GlobalAveragePool" ? "ReduceMean" : "ReduceMax");
    return true;
  }

  int AxesConstant(const std::vector<int64_t>& axes, const std::string& name) {
    return graph_.AddConstant(name, graph::MakeInts({static_cast<int64_t>(axes.size())}, axes));
  }

  bool VisitReduce(int id) {
    const Node node = graph_.node(id);
    const int x = node.inputs[0];
    const size_t rank = Rank(x);
    auto axes = Integers(graph_, node, 1, node.Ints("axes"));
    if (!Leads(x) || !axes || axes->empty()) return false;
    std::vector<bool> reduced(rank, false);
    for (int64_t& a : *axes) {
      reduced[a < 0 ? a + static_cast<int64_t>(rank) : a] = true;
      a = MovedAxis(a, rank);
    }
    std::sort(axes->begin(), axes->end());
    Attributes attributes = node.attributes;
    attributes.erase("axes");
    std::vector<int> inputs{Last(x, id), AxesConstant(*axes, node.op + ".axes")};
    if (node.Int("keepdims", 1) != 0) {
      Move(id, std::move(inputs), std::move(attributes));
      return true;
    }
    // Without the reduced dimensions the others must come in the same order.
    if (!std::all_of(reduced.begin() + 2, reduced.end(), [](bool r) { return r; }) && !reduced[1]) {
      return false;
    }
    graph_.RemoveAttribute(id, "axes");
    graph_.SetInputs(id, std::move(inputs));
    return true;
  }

  // Elementwise operators and Concat: they move if an operand has moved already.
  bool VisitFollowing(int id) {
    const Node node = graph_.node(id);
    const size_t rank = Rank(node.outputs[0]);
    if (rank < 3) return false;
    bool any = false;
    for (int v : node.inputs) {
      if (v == kNone) continue;
      const bool scalar = graph::ElementCount(graph_.shape(v)) == 1;
      if (Rank(v) == rank) {
        any = any || Leads(v);
      } else if (!graph_.value(v).IsConstant() && !scalar) {
        return false;
      }
    }
    if (!any) return false;
    std::vector<int> inputs = node.inputs;
    for (int& v : inputs) {
      if (v != kNone) v = Operand(v, rank, id);
    }
    Attributes attributes = node.attributes;
    if (node.Is("Concat")) attributes["axis"] = MovedAxis(node.Int("axis", 0), rank);
    Move(id, std::move(inputs), std::move(attributes));
    return true;
  }

  // An operand that broadcasts to `rank` dimensions, for a channels-last result.
  int Operand(int value, size_t rank, int before) {
    if (Rank(value) == rank) return Last(value, before);
    const graph::Value& v = graph_.value(value);
    if (!v.IsConstant() || v.constant->size() == 1) return value;
    graph::Tensor tensor = *v.constant;
    tensor.shape.insert(tensor.shape.begin(), rank - tensor.shape.size(), 1);
    graph::Tensor moved = TransposedTensor(tensor, ToLast(rank));
    while (moved.shape.size() > 1 && moved.shape[0] == 1) moved.shape.erase(moved.shape.begin());
    return graph_.AddConstant(v.name + ".last", std::move(moved));
  }

  // Operators that name axes of their first operand and keep its rank.
  bool VisitAxes(int id) {
    const Node node = graph_.node(id);
    const int x = node.inputs[0];
    const size_t rank = Rank(x);
    Attributes attributes = node.attributes;
    std::vector<int> inputs = node.inputs;
    if (node.Is("Softmax") || node.Is("LogSoftmax") || node.Is("Split") || node.Is("ArgMax") ||
        node.Is("ArgMin")) {
      const bool soft = node.Is("Softmax") || node.Is("LogSoftmax");
      attributes["axis"] = MovedAxis(node.Int("axis", soft ? -1 : 0), rank);
    } else if (node.Is("Gather")) {
      attributes["axis"] = MovedAxis(node.Int("axis", 0), rank);
    } else if (node.Is("Slice")) {
      const auto starts = Integers(graph_, node, 1, {});
      std::vector<int64_t> every(starts ? starts->size() : 0);
      std::iota(every.begin(), every.end(), 0);
      auto axes = Integers(graph_, node, 3, every);
      if (!starts || !axes) return false;
      for (int64_t& a : *axes) a = MovedAxis(a, rank);
      if (inputs.size() < 4) inputs.resize(4, kNone);
      inputs[3] = AxesConstant(*axes, "Slice.axes");
    } else if (node.Is("Pad")) {
      std::vector<int64_t> every(rank);
      std::iota(every.begin(), every.end(), 0);
      auto axes = Integers(graph_, node, 3, every);
      if (!axes) return false;
      for (int64_t& a : *axes) a = MovedAxis(a, rank);
      if (inputs.size() < 4) inputs.resize(4, kNone);
      inputs[3] = AxesConstant(*axes, "Pad.axes");
    } else if (!node.Is("Expand")) {
      return false;
    }
    // Expand's result follows from its type; its operand `shape` is not read again.
    inputs[0] = Last(x, id);
    Move(id, std::move(inputs), std::move(attributes));
    return true;
  }

  Graph& graph_;
  const std::set<int> stay_;  // nodes that compute in the model's order (layout.h)
  std::map<int, int> last_;   // value -> its channels-last form
  std::map<int, int> first_;  // moved value -> what gives it back
  std::set<int> moved_;       // values that exist in channels-last form only
};

}  // namespace

Status ChannelsLast(Graph& graph) { return MoveChannelsLast(graph, NodesChannelsFirst(graph)); }

Status MoveChannelsLast(Graph& graph, const std::set<int>& stay) {
  return Rewriter(graph, stay).Run();
}

Status DropReducedDimensions(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (int id : order) {
    if (!graph.IsAlive(id)) continue;
    const Node node = graph.node(id);
    if (node.op.rfind("Reduce", 0) != 0 || node.Int("keepdims", 1) == 0) continue;
    const int y = node.outputs[0];
    const graph::Use* use = graph.OnlyUse(y);
    const auto axes = Integers(graph, node, 1, node.Ints("axes"));
    if (use == nullptr || use->input != 0 || !axes || axes->empty()) continue;
    const Node next = graph.node(use->node);
    const ops::OpEntry* entry = ops::FindBuilder(next);
    if (entry == nullptr || entry->build != ops::BuildReshape) continue;
    const Shape in = graph.shape(node.inputs[0]);
    std::vector<bool> reduced(in.size(), false);
    for (int64_t a : *axes) reduced[a < 0 ? a + static_cast<int64_t>(in.size()) : a] = true;
    Shape rest;
    for (size_t d = 0; d < in.size(); ++d) {
      if (!reduced[d]) rest.push_back(in[d]);
    }
    const int z = next.outputs[0];
    if (graph.shape(z) != rest) continue;
    graph.SetAttribute(id, "keepdims", int64_t{0});
    graph.SetType(y, graph.type(z));
    graph.SetValueName(y, graph.value(z).name);
    graph.AddSources(id, next.sources);
    graph.ReplaceUses(z, y);
    graph.RemoveNode(next.id);
  }
  return OkStatus();
}

}  // namespace temper::partition
