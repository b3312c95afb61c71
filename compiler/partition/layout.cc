#include "compiler/partition/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/ops/window.h"
#include "compiler/partition/min_cut.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::Shape;

constexpr int kMostNodes = 4096;  // of a region

// What a core with vectors of 512 bits does in a cycle.
constexpr double kMultiplyAdds = 32;
constexpr double kConvertedBytes = 9;  // read and written in the other order
constexpr double kStackBytes = 48;     // read into a copy that stays in the first cache
constexpr double kLanes = 16;
constexpr double kRowCycles = 6;     // a row of several vectors, whatever its length
constexpr double kUnaligned = 1.25;  // windows along rows begin anywhere in a line
constexpr double kFarRows = 1.05;    // channels that lie planes apart

enum class Side { kNeither, kEither, kFirst, kLast };

// How much longer vectors take along `extent` elements than along full ones: a masked one takes as
// long as a whole one.
double Waste(double extent) { return std::ceil(extent / kLanes) * kLanes / extent; }

struct Costs {
  double first = 0, last = 0;
};

double Product(const std::vector<int64_t>& v, size_t from = 0) {
  double product = 1;
  for (size_t d = from; d < v.size(); ++d) product *= static_cast<double>(v[d]);
  return product;
}

// Of a convolution or a pool.
Costs CostsOf(const Graph& graph, const Node& node) {
  const Shape in = graph.shape(node.inputs[0]), out = graph.shape(node.outputs[0]);
  const bool pool = !node.Is("Conv");
  const auto window = ops::WindowOf(graph, node);
  if (!window.ok()) return {};
  const double taps = Product(window->kernel), pixels = Product(out, 2);
  const int64_t group = pool ? in[1] : node.Int("group", 1);
  const double channels = pool ? 1 : static_cast<double>(in[1]) / static_cast<double>(group);
  const double results = static_cast<double>(out[1]) / static_cast<double>(group);
  const double work = Product(out) * taps * channels / kMultiplyAdds;
  const bool strided =
      std::any_of(window->strides.begin(), window->strides.end(), [](int64_t s) { return s != 1; });
  Costs costs;
  if (channels == 1 && results == 1) {
    const auto width = static_cast<double>(out.back());
    const double rows = width > kLanes ? Product(out) / width : 0;
    const double copied = window->ReadsOutside() ? Product(in) * 4 / kStackBytes : 0;
    costs.last = work * Waste(static_cast<double>(out[1]));
    costs.first = kUnaligned * work * Waste(width) + copied + rows * kRowCycles;
    costs.first = std::max(costs.first, costs.last);
    return costs;
  }
  const double filled = work * Waste(results);
  costs.last = filled;
  if (taps == 1 && !strided && !window->ReadsOutside()) {
    // Few pixels do not fill the last vector; rows of pixels lie far apart.
    costs.first = work * Waste(pixels) * kFarRows;
  } else {
    costs.first = 3 * std::max(filled, work);
  }
  return costs;
}

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph) {}

  std::set<int> Run() {
    for (int id : graph_.order()) sides_[id] = SideOf(graph_.node(id));
    Connect();
    std::map<int, std::vector<int>> regions;  // by their first node
    for (const auto& [id, side] : sides_) {
      if (side == Side::kEither) regions[Region(id)].push_back(id);
    }
    std::set<int> first;
    for (const auto& [number, nodes] : regions) {
      const bool images =
          std::any_of(nodes.begin(), nodes.end(), [&](int id) { return IsImage(graph_.node(id)); });
      if (images && nodes.size() <= kMostNodes) Cut(nodes, &first);
    }
    return first;
  }

 private:
  static bool IsImage(const Node& node) {
    return node.Is("Conv") || node.Is("MaxPool") || node.Is("AveragePool");
  }

  size_t Rank(int value) const { return graph_.type(value).dims.size(); }

  bool IsStatic(const Node& node) const {
    const auto known = [&](int value) {
      return value == kNone || (graph_.type(value).dtype && graph_.type(value).IsStatic());
    };
    return std::all_of(node.inputs.begin(), node.inputs.end(), known) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), known);
  }

  // The order that a node computes in.
  Side SideOf(const Node& node) const {
    const ops::OpEntry* entry = ops::FindBuilder(node);
    const int x = node.Input(0), y = node.Output(0);
    if (entry == nullptr || x == kNone || y == kNone || !node.domain.empty()) return Side::kFirst;
    if (Rank(x) < 3 || !IsStatic(node)) return Side::kFirst;
    if (node.Is("ConvTranspose")) return Side::kLast;
    if (entry->channels_last || node.Is("GlobalAveragePool") || node.Is("GlobalMaxPool") ||
        node.op.rfind("Reduce", 0) == 0 || node.Is("Concat")) {
      return Side::kEither;
    }
    if (node.Is("Transpose")) return Side::kNeither;
    const bool follows = entry->kind == ops::OpKind::kElementwise || node.Is("Slice") ||
                         node.Is("Split") || node.Is("Pad") || node.Is("Softmax") ||
                         node.Is("Gather") || node.Is("Expand");
    return follows && Rank(y) == Rank(x) ? Side::kEither : Side::kFirst;
  }

  // What a Transpose does to the order makes its other side channels-last.
  static bool Moves(const Node& node, bool to_last) {
    const std::vector<int64_t> perm = node.Ints("perm");
    const size_t rank = perm.size();
    return node.Is("Transpose") && rank >= 4 && perm == (to_last ? ToLast(rank) : ToFirst(rank));
  }

  Side Written(int value) const {
    const Node* node = graph_.ProducerOf(value);
    if (node == nullptr) return Side::kFirst;
    if (Moves(*node, false)) return Side::kLast;
    return sides_.at(node->id);
  }
  Side Read(int node) const {
    if (Moves(graph_.node(node), true)) return Side::kLast;
    return sides_.at(node);
  }

  // Cycles to change its order; 0 where both orders are the same memory.
  double Change(int value) const {
    const graph::ValueType& type = graph_.type(value);
    if (graph_.value(value).IsConstant() || Rank(value) < 3 || !type.IsStatic()) return 0;
    const Shape shape = graph_.shape(value);
    const double pixels = Product(shape, 2);
    if (shape[1] == 1 || pixels == 1) return 0;
    return Product(shape) * static_cast<double>(ByteSize(*type.dtype)) / kConvertedBytes;
  }

  int Region(int id) {
    while (parent_.at(id) != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  void Connect() {
    for (const auto& [id, side] : sides_) parent_[id] = id;
    for (int id : graph_.order()) {
      if (sides_[id] != Side::kEither) continue;
      for (int value : graph_.node(id).inputs) {
        const Node* from = value == kNone ? nullptr : graph_.ProducerOf(value);
        if (from == nullptr || sides_.at(from->id) != Side::kEither) continue;
        parent_[Region(from->id)] = Region(id);
      }
    }
  }

  // The source is channels-last, the sink the model's order.
  void Cut(const std::vector<int>& nodes, std::set<int>* first) {
    constexpr int kLastEnd = 0, kFirstEnd = 1;
    MinCut cut(2);
    std::map<int, int> number;
    std::set<int> values;
    for (int id : nodes) {
      number[id] = cut.AddNode();
      const Node& node = graph_.node(id);
      if (IsImage(node)) {
        const Costs costs = CostsOf(graph_, node);
        cut.AddEdge(kLastEnd, number[id], costs.first);
        cut.AddEdge(number[id], kFirstEnd, costs.last);
      }
      for (int value : node.inputs) {
        if (value != kNone) values.insert(value);
      }
      for (int value : node.outputs) {
        if (value != kNone) values.insert(value);
      }
    }
    const auto end = [&](Side side, int node) {
      if (side == Side::kEither) return number.count(node) ? number.at(node) : -1;
      return side == Side::kNeither ? -1 : side == Side::kLast ? kLastEnd : kFirstEnd;
    };
    for (int value : values) {
      const double change = Change(value);
      const Node* producer = graph_.ProducerOf(value);
      const int from = end(Written(value), producer == nullptr ? kNone : producer->id);
      if (change == 0 || from < 0) continue;
      // Each order that the value does not have is made once, whoever reads it.
      const int last = cut.AddNode(), plain = cut.AddNode();
      cut.AddEdge(last, from, change);
      cut.AddEdge(from, plain, change);
      for (const graph::Use& use : graph_.value(value).uses) {
        const int to = end(Read(use.node), use.node);
        if (to < 0) continue;
        cut.AddEdge(to, last, MinCut::kInfinite);
        cut.AddEdge(plain, to, MinCut::kInfinite);
      }
      if (graph_.IsOutput(value)) cut.AddEdge(plain, kFirstEnd, MinCut::kInfinite);
    }
    const std::vector<bool> is_last = cut.Solve(kLastEnd, kFirstEnd);
    for (const auto& [id, at] : number) {
      if (!is_last[at]) first->insert(id);
    }
  }

  const Graph& graph_;
  std::map<int, Side> sides_;  // by node
  std::map<int, int> parent_;
};

}  // namespace

std::vector<int64_t> ToLast(size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 1);
  perm[0] = 0;
  perm[rank - 1] = 1;
  return perm;
}

std::vector<int64_t> ToFirst(size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), -1);
  perm[0] = 0;
  perm[1] = static_cast<int64_t>(rank) - 1;
  return perm;
}

std::set<int> NodesChannelsFirst(const Graph& graph) { return Cutter(graph).Run(); }

}  // namespace temper::partition
