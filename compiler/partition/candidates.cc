#include "compiler/partition/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/ops/op_table.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using ops::OpKind;

// Bounds on a group, far above what real epilogues need.
constexpr size_t kMaxNodes = 24;
constexpr int64_t kMaxInlinedSize = 4096;

OpKind KindOf(const Graph& graph, int id) { return ops::FindBuilder(graph.node(id))->kind; }

int64_t Elements(const Graph& graph, int value) { return *graph::ElementCount(graph.shape(value)); }

// Whether there is nothing to compute. Such a node gets no kernel.
bool IsEmpty(const Graph& graph, const graph::Node& node) {
  for (int value : node.outputs) {
    if (value == kNone) continue;
    if (!graph.type(value).IsStatic() || Elements(graph, value) != 0) return false;
  }
  return true;
}

class Growth {
 public:
  Growth(const Graph& graph, const ops::Halos& halos, const std::set<int>& without,
         const std::vector<size_t>& position)
      : graph_(graph), halos_(halos), without_(without), position_(position) {}

  // The next larger group, or none.
  std::optional<Group> Extend(const Group& group) const {
    std::set<int> nodes(group.nodes.begin(), group.nodes.end());
    const int seed = group.nodes.front();
    std::vector<int> exits = Exits(nodes);
    do {
      // The readers of the exit that comes first must all join.
      if (exits.empty() || graph_.IsOutput(exits[0])) return std::nullopt;
      for (const graph::Use& use : graph_.value(exits[0]).uses) {
        if (nodes.count(use.node)) continue;
        if (!MayJoin(seed, use.node, exits[0])) return std::nullopt;
        nodes.insert(use.node);
      }
      if (nodes.size() > kMaxNodes) return std::nullopt;
      exits = Exits(nodes);
    } while (exits.size() != 1);
    Group grown{{nodes.begin(), nodes.end()}};
    std::sort(grown.nodes.begin(), grown.nodes.end(),
              [&](int a, int b) { return position_.at(a) < position_.at(b); });
    // An error here means that they cannot be one kernel, not that the graph is wrong.
    const auto kernel = BuildKernel(graph_, halos_, grown);
    if (!kernel.ok() || InlinedSize(kernel->program, kMaxInlinedSize) >= kMaxInlinedSize) {
      return std::nullopt;
    }
    return grown;
  }

 private:
  // Values of the group that are used outside, by position.
  std::vector<int> Exits(const std::set<int>& nodes) const {
    std::vector<int> exits;
    for (int id : nodes) {
      for (int value : graph_.node(id).outputs) {
        if (value == kNone) continue;
        bool leaves = graph_.IsOutput(value);
        for (const graph::Use& use : graph_.value(value).uses) {
          leaves = leaves || !nodes.count(use.node);
        }
        if (leaves) exits.push_back(value);
      }
    }
    std::sort(exits.begin(), exits.end(), [&](int a, int b) {
      return position_.at(graph_.value(a).producer) < position_.at(graph_.value(b).producer);
    });
    return exits;
  }

  bool MayJoin(int seed, int id, int through) const {
    const graph::Node& node = graph_.node(id);
    const OpKind kind = KindOf(graph_, id);
    if (node.outputs.size() != 1 || without_.count(id)) return false;
    if (KindOf(graph_, seed) == OpKind::kReduction) {
      return kind == OpKind::kElementwise &&
             graph_.shape(node.outputs[0]) == graph_.shape(graph_.node(seed).outputs[0]);
    }
    return (kind == OpKind::kElementwise || kind == OpKind::kInjective) &&
           Elements(graph_, node.outputs[0]) <= Elements(graph_, through);
  }

  const Graph& graph_;
  const ops::Halos& halos_;
  const std::set<int>& without_;
  const std::vector<size_t>& position_;
};

// Of a node that constant folding replaces by its result, unless that is too large.
std::string WhyStillThere(const Graph& graph, const Node& node) {
  if (!node.Is("ConstantOfShape") && !node.Is("Range")) return "";
  const graph::ValueType& type = graph.type(node.outputs[0]);
  return fmt::format(": its result, {}{}, is too large to be computed when the model is compiled",
                     Name(*type.dtype), graph::ShapeToString(type.StaticShape()));
}

}  // namespace

Result<Candidates> Candidates::Create(const Graph& graph, const ops::Halos& halos,
                                      const InPlace& in_place) {
  Candidates candidates(graph, halos);
  candidates.without_ = in_place.nodes;
  candidates.position_.resize(static_cast<size_t>(graph.node_limit()));
  std::string unknown;  // all at once
  for (size_t i = 0; i < graph.order().size(); ++i) {
    const int id = graph.order()[i];
    candidates.position_[static_cast<size_t>(id)] = i;
    if (IsEmpty(graph, graph.node(id))) candidates.without_.insert(id);
    if (candidates.without_.count(id)) continue;
    candidates.seeds_.push_back(id);
    if (ops::FindBuilder(graph.node(id)) != nullptr) continue;
    unknown += "\n  " + graph.node(id).Describe() + WhyStillThere(graph, graph.node(id));
  }
  if (!unknown.empty()) return Unimplemented("no kernel is known for these nodes:" + unknown);
  return candidates;
}

Result<Chain> Candidates::ChainFrom(int seed) const {
  const Growth growth(graph_, halos_, without_, position_);
  Chain chain{Group{{seed}}};
  TEMPER_RETURN_IF_ERROR(BuildKernel(graph_, halos_, chain[0]).status());
  const OpKind kind = KindOf(graph_, seed);
  if (kind != OpKind::kComposite && !ops::StandsAlone(kind) &&
      graph_.node(seed).outputs.size() == 1) {
    while (auto next = growth.Extend(chain.back())) chain.push_back(std::move(*next));
  }
  return chain;
}

}  // namespace temper::partition
