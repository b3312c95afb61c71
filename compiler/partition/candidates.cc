#include "compiler/partition/candidates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/ops/op_table.h"

namespace temper::partition {
namespace {

using graph::Graph;
using graph::kNone;
using ops::OpKind;

// Bounds on a group, far above what real epilogues need.
constexpr size_t kMaxNodes = 24;
constexpr int64_t kMaxInlinedSize = 4096;

OpKind KindOf(const Graph& graph, int id) { return ops::FindBuilder(graph.node(id))->kind; }

int64_t Elements(const Graph& graph, int value) { return *graph::ElementCount(graph.shape(value)); }

// Whether there is nothing to compute. Such a node gets no kernel.
bool IsEmpty(const Graph& graph, const graph::Node& node) {
  for (int value : node.outputs) {
    if (value != kNone && graph.type(value).IsStatic() && Elements(graph, value) != 0) return false;
  }
  return true;
}

class Growth {
 public:
  Growth(const Graph& graph, const ops::Halos& halos) : graph_(graph), halos_(halos) {
    for (size_t i = 0; i < graph.order().size(); ++i) position_[graph.order()[i]] = i;
  }

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
    if (node.outputs.size() != 1 || IsEmpty(graph_, node)) return false;
    if (KindOf(graph_, seed) == OpKind::kReduction) {
      return kind == OpKind::kElementwise &&
             graph_.shape(node.outputs[0]) == graph_.shape(graph_.node(seed).outputs[0]);
    }
    return (kind == OpKind::kElementwise || kind == OpKind::kInjective) &&
           Elements(graph_, node.outputs[0]) <= Elements(graph_, through);
  }

  const Graph& graph_;
  const ops::Halos& halos_;
  std::map<int, size_t> position_;
};

}  // namespace

Result<std::vector<Chain>> CandidateChains(const Graph& graph, const ops::Halos& halos) {
  // All operators without kernel are named at once.
  std::string unknown;
  for (int id : graph.order()) {
    if (IsEmpty(graph, graph.node(id))) continue;
    if (ops::FindBuilder(graph.node(id)) == nullptr) unknown += "\n  " + graph.node(id).Describe();
  }
  if (!unknown.empty()) return Unimplemented("no kernel is known for these nodes:" + unknown);
  const Growth growth(graph, halos);
  std::vector<Chain> chains;
  for (int id : graph.order()) {
    if (IsEmpty(graph, graph.node(id))) continue;
    Chain chain{Group{{id}}};
    TEMPER_RETURN_IF_ERROR(BuildKernel(graph, halos, chain[0]).status());
    const graph::Node& node = graph.node(id);
    if (KindOf(graph, id) != OpKind::kComposite && node.outputs.size() == 1) {
      while (auto next = growth.Extend(chain.back())) chain.push_back(std::move(*next));
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

}  // namespace temper::partition
