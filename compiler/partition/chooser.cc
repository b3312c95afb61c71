// The choosers among candidate groups.
#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/partition/partition.h"

namespace temper::partition {
namespace {

using graph::Graph;
using ops::OpKind;

// Of a group that takes in others. Each time its kernel is built anew, so that without a bound a
// sum of thousands of products takes minutes; larger kernels do not run faster either.
constexpr size_t kMaxAbsorbed = 128;

class Greedy {
 public:
  Greedy(const Graph& graph, const ops::Halos& halos, const Candidates& candidates,
         const CostFunction& cost)
      : graph_(graph), halos_(halos), candidates_(candidates), cost_(cost) {
    for (size_t i = 0; i < graph.order().size(); ++i) position_[graph.order()[i]] = i;
  }

  // A group of the chain from this node, unless the node is taken.
  Status Take(int seed) {
    if (owner_.count(seed)) return OkStatus();
    TEMPER_ASSIGN_OR_RETURN(const Chain chain, candidates_.ChainFrom(seed));
    const Group* best = chain.data();
    for (size_t i = 1; i < chain.size(); ++i) {
      bool free = true;
      for (int id : chain[i].nodes) free = free && !owner_.count(id);
      if (!free) break;
      TEMPER_ASSIGN_OR_RETURN(const bool pays, Pays(*best, chain[i]));
      if (!pays) break;
      best = &chain[i];
    }
    for (int id : best->nodes) owner_[id] = static_cast<int>(groups_.size());
    groups_.push_back(*best);
    return OkStatus();
  }

  // Groups without heavy nodes join the group that alone reads them, element for element or plane
  // for plane.
  Status Absorb() {
    std::vector<int> order(groups_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return Position(groups_[a]) > Position(groups_[b]); });
    for (int g : order) {
      const int into = Reader(g);
      if (into < 0 || groups_[g].nodes.size() + groups_[into].nodes.size() > kMaxAbsorbed) continue;
      Group joined = groups_[g];
      joined.nodes.insert(joined.nodes.end(), groups_[into].nodes.begin(),
                          groups_[into].nodes.end());
      std::sort(joined.nodes.begin(), joined.nodes.end(),
                [&](int a, int b) { return position_.at(a) < position_.at(b); });
      const auto kernel = BuildKernel(graph_, halos_, joined);
      if (!kernel.ok() || InlinedSize(kernel->program, 4096) >= 4096) continue;
      if (cost_) {
        TEMPER_ASSIGN_OR_RETURN(const double a, Cost(groups_[g]));
        TEMPER_ASSIGN_OR_RETURN(const double b, Cost(groups_[into]));
        if (cost_(kernel->program) > a + b) continue;
      }
      for (int id : groups_[g].nodes) owner_[id] = into;
      groups_[into] = std::move(joined);
      groups_[g].nodes.clear();
    }
    return OkStatus();
  }

  std::vector<Group> Finish() {
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
    // All that a group reads is the last node of another, which comes before its own last.
    std::sort(groups_.begin(), groups_.end(),
              [&](const Group& a, const Group& b) { return Position(a) < Position(b); });
    return std::move(groups_);
  }

 private:
  size_t Position(const Group& group) const {
    return group.nodes.empty() ? 0 : position_.at(group.nodes.back());
  }
  OpKind KindOf(int id) const { return ops::FindBuilder(graph_.node(id))->kind; }

  Result<double> Cost(const Group& group) const {
    TEMPER_ASSIGN_OR_RETURN(const Kernel kernel, BuildKernel(graph_, halos_, group));
    return cost_(kernel.program);
  }

  Result<bool> Pays(const Group& before, const Group& after) const {
    if (!cost_) return true;
    TEMPER_ASSIGN_OR_RETURN(double apart, Cost(before));
    for (int id : after.nodes) {
      if (std::count(before.nodes.begin(), before.nodes.end(), id)) continue;
      TEMPER_ASSIGN_OR_RETURN(const double alone, Cost(Group{{id}}));
      apart += alone;
    }
    TEMPER_ASSIGN_OR_RETURN(const double together, Cost(after));
    return together <= apart;
  }

  // Whether the node reads each plane of its operand for one plane of its result: a pool or a
  // depthwise convolution, channels first.
  bool ReadsRows(const graph::Node& node) const {
    if (node.Is("MaxPool") || node.Is("AveragePool")) return true;
    if (!node.Is("Conv")) return false;
    const int64_t channels = graph_.shape(node.inputs[0])[1];
    return node.Int("group", 1) == channels && graph_.shape(node.outputs[0])[1] == channels;
  }

  // Whether the group only puts whole planes (the last two dimensions) into another order, as a
  // channel shuffle does. The planes' reader then finds them at no cost.
  bool MovesRows(const Group& group) const {
    for (int id : group.nodes) {
      const graph::Node& node = graph_.node(id);
      const graph::Shape in = graph_.shape(node.inputs[0]), out = graph_.shape(node.outputs[0]);
      if (in.size() < 3 || out.size() < 3) return false;
      if (node.Is("Transpose")) {
        const std::vector<int64_t> perm = node.Ints("perm");
        const auto rank = static_cast<int64_t>(perm.size());
        if (perm[rank - 1] != rank - 1 || perm[rank - 2] != rank - 2) return false;
      } else if (ops::FindBuilder(node)->build != ops::BuildReshape ||
                 !std::equal(in.end() - 2, in.end(), out.end() - 2)) {
        return false;
      }
    }
    return true;
  }

  // The group that may take in group `g`, or -1.
  int Reader(int g) const {
    for (int id : groups_[g].nodes) {
      const OpKind kind = KindOf(id);
      if (kind != OpKind::kElementwise && kind != OpKind::kInjective) return -1;
    }
    const graph::Node& last = graph_.node(groups_[g].nodes.back());
    if (last.outputs.size() != 1 || graph_.IsOutput(last.outputs[0])) return -1;
    int reader = -1;
    for (const graph::Use& use : graph_.value(last.outputs[0]).uses) {
      const graph::Node& node = graph_.node(use.node);
      const auto owner = owner_.find(use.node);
      if (owner == owner_.end()) return -1;  // no kernel reads it there
      const int group = owner->second;
      if (reader >= 0 && group != reader) return -1;
      const bool pointwise = KindOf(use.node) == OpKind::kElementwise &&
                             graph_.shape(node.outputs[0]) == graph_.shape(last.outputs[0]);
      if (!pointwise && !(use.input == 0 && ReadsRows(node) && MovesRows(groups_[g]))) return -1;
      reader = group;
    }
    return reader;
  }

  const Graph& graph_;
  const ops::Halos& halos_;
  const Candidates& candidates_;
  const CostFunction& cost_;
  std::map<int, size_t> position_;
  std::map<int, int> owner_;  // node -> group
  std::vector<Group> groups_;
};

}  // namespace

Result<std::vector<Group>> ChooseEpilogues(const Graph& graph, const ops::Halos& halos,
                                           const Candidates& candidates, const CostFunction& cost) {
  std::vector<std::pair<double, int>> order;  // weight, seed
  for (int seed : candidates.seeds()) {
    double weight = -1;
    if (ops::FindBuilder(graph.node(seed))->kind == OpKind::kReduction) {
      TEMPER_ASSIGN_OR_RETURN(const Kernel kernel, BuildKernel(graph, halos, Group{{seed}}));
      weight = te::FlopCount(kernel.program);
    }
    order.emplace_back(weight, seed);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Greedy greedy(graph, halos, candidates, cost);
  for (const auto& [weight, seed] : order) TEMPER_RETURN_IF_ERROR(greedy.Take(seed));
  TEMPER_RETURN_IF_ERROR(greedy.Absorb());
  return greedy.Finish();
}

Result<std::vector<Group>> ChooseSingles(const Graph&, const ops::Halos&,
                                         const Candidates& candidates, const CostFunction&) {
  std::vector<Group> groups;
  for (int seed : candidates.seeds()) groups.push_back(Group{{seed}});
  return groups;
}

}  // namespace temper::partition
