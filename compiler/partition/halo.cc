#include "compiler/partition/halo.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/ops/op_table.h"
#include "compiler/ops/window.h"
#include "compiler/te/program.h"

namespace temper::partition {
namespace {

// Values that are to have one halo, by union and find.
class Classes {
 public:
  explicit Classes(int values) : parent_(values) { std::iota(parent_.begin(), parent_.end(), 0); }
  int Of(int value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  void Join(int a, int b) { parent_[Of(a)] = Of(b); }

 private:
  std::vector<int> parent_;
};

}  // namespace

ops::Halos AssignHalos(const graph::Graph& graph, InPlace* in_place) {
  Classes classes(graph.value_count());
  ops::Halos by_class;
  for (int id : graph.order()) {
    const graph::Node& node = graph.node(id);
    const int x = node.Input(0), y = node.Output(0);
    const ops::OpEntry* entry = ops::FindBuilder(node);
    if (entry == nullptr || x == graph::kNone || y == graph::kNone) continue;
    if (entry->kind != ops::OpKind::kElementwise) continue;
    for (int value : node.inputs) {
      if (value == graph::kNone || graph.value(value).IsConstant()) continue;
      if (graph.type(value).dims == graph.type(y).dims) classes.Join(value, y);
    }
  }
  const auto last = [&](int value) { return static_cast<int>(graph.type(value).dims.size()) - 1; };
  for (const auto& [value, part] : in_place->parts) {
    if (part.axis == last(value)) classes.Join(value, part.of);
  }
  for (int id : graph.order()) {
    const graph::Node& node = graph.node(id);
    const ops::Halo wanted = ops::WantedHalo(graph, node);
    if (wanted.before.empty()) continue;
    ops::Halo& halo = by_class.try_emplace(classes.Of(node.inputs[0]), wanted).first->second;
    for (size_t d = 0; d < halo.before.size(); ++d) {
      const int64_t most = std::max(wanted.before[d], wanted.after[d]);
      halo.before[d] = std::max(halo.before[d], most);
      halo.after[d] = std::max(halo.after[d], most);
    }
  }
  // A value that would be too large with it has none, and neither has what goes with it.
  for (int id : graph.order()) {
    for (int value : graph.node(id).outputs) {
      if (value == graph::kNone || !graph.type(value).IsStatic()) continue;
      const auto found = by_class.find(classes.Of(value));
      if (found == by_class.end()) continue;
      graph::Shape extent = graph.shape(value);
      for (size_t d = 0; d < extent.size(); ++d) {
        extent[d] += found->second.before[d] + found->second.after[d];
      }
      const auto elements = graph::ElementCount(extent);
      if (!elements || *elements > te::kMaxElements) by_class.erase(found);
    }
  }
  // Functions of the runtime and control flow know no halos.
  const auto plain = [&](int node) {
    const ops::OpEntry* entry = node == graph::kNone ? nullptr : ops::FindBuilder(graph.node(node));
    return entry != nullptr && ops::StandsAlone(entry->kind);
  };
  ops::Halos halos;
  for (int id : graph.order()) {
    for (int value : graph.node(id).outputs) {
      if (value == graph::kNone || graph.IsOutput(value) || plain(id)) continue;
      const auto& uses = graph.value(value).uses;
      if (std::any_of(uses.begin(), uses.end(),
                      [&](const graph::Use& use) { return plain(use.node); })) {
        continue;
      }
      if (auto found = by_class.find(classes.Of(value)); found != by_class.end()) {
        halos[value] = found->second;
      }
    }
  }
  std::set<int> without_room;  // nodes
  for (const auto& [value, part] : in_place->parts) {
    if (part.axis == last(value) || !(halos.count(value) || halos.count(part.of))) continue;
    without_room.insert(part.node);
  }
  std::erase_if(in_place->parts,
                [&](const auto& entry) { return without_room.count(entry.second.node) != 0; });
  for (int node : without_room) in_place->nodes.erase(node);
  return halos;
}

}  // namespace temper::partition
