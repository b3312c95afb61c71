// What leaves the leaves of a switch: values that are the same kind of thing in all of them, and
// values that vary, with the id of what they have come to be.
//
//   If(c) {y = [2,3]} {y = [4,3]}  ->  y: room for 12 elements, id: 0 or 1; y varies: [2,3], [4,3]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"
#include "compiler/import/switch_tree.h"

namespace temper::importer {

// A value as it is where it does not vary.
Form FormOf(const graph::Graph& graph, int value);

// The form of a condition that is known to hold or not.
Form FormOf(const graph::Graph& graph, int condition, bool holds);

// "[2,3] or [4,3]", of the forms' types; few of them.
std::string ListForms(const std::vector<Form>& forms);

// What values of a graph may be together: a combination of variants of the families that they are
// of.
struct Combinations {
  std::vector<int> families;             // ids
  std::vector<int64_t> counts;           // variants of each
  int64_t count = 1;                     // of combinations
  std::vector<std::vector<Form>> forms;  // [combination][value]

  // The variant of a family that the combination has.
  int64_t VariantOf(int64_t combination, int family) const;
};
// An error, which starts with `what`, if they are too many.
Result<Combinations> Combine(const Region& region, const std::vector<int>& values,
                             const std::string& what);
// The number of the combination that the run has come to: an int64 scalar of the builder's graph.
Result<int> CombinationId(GraphBuilder& builder, const Combinations& combinations,
                          const std::string& source);

// A value behind a switch.
struct Live {
  std::string name;
  std::vector<int> values;  // one a leaf, of its graph; not looked at where the leaf ends the run
  bool gives_out = false;   // it is only an output of the model, where open extents will do
};

class Merger {
 public:
  // All must outlive the merger. `what` names, for errors, what the switch is of.
  Merger(GraphBuilder& builder, SwitchTree& tree, std::string source, std::string what)
      : builder_(builder), tree_(tree), source_(std::move(source)), what_(std::move(what)) {}

  // A value around the tree that varies with its leaves and is read behind it too.
  void Keep(int value, std::vector<Form> forms) { kept_.emplace_back(value, std::move(forms)); }

  // In each leaf the condition, a value around the tree, is this.
  void Know(int condition, std::vector<Truth> truths) { known_[condition] = std::move(truths); }

  // Adds the switch. The values of `live`, in the graph around the tree; those that vary are in its
  // region's list. Where the switch is an If of the model, constants alone do not make values vary.
  Result<std::vector<int>> Merge(const std::vector<Live>& live);

  // The same in two steps, where it is known what varies: first all values, then those of them that
  // leave, each with its room or -1. Tuples of the forms of all values k with varies[k] have the
  // numbers that `table` gives their keys (KeyOf). The last result is the number.
  Status Enumerate(const std::vector<Live>& all);
  Result<std::vector<int>> MergeInto(const std::vector<Live>& leaving,
                                     const std::vector<int64_t>& room,
                                     const std::vector<bool>& varies,
                                     const std::map<std::string, int>& table, bool constants);

 private:
  struct Row {
    int leaf;
    int64_t combination;
    std::vector<Form> forms;
  };

  // The leaf's value as a tensor that may leave it.
  Result<int> Settle(Region& leaf, int value, const std::string& name);
  // The outputs of the switch for them.
  Result<std::vector<SwitchTree::Output>> Leave(const std::vector<Live>& leaving,
                                                const std::vector<int64_t>& room);
  // The number of the combination that the leaf has come to, from those of all.
  Result<int> NumberIn(int leaf, const std::vector<int>& numbers);

  GraphBuilder& builder_;
  SwitchTree& tree_;
  std::string source_, what_;
  std::vector<std::pair<int, std::vector<Form>>> kept_;
  std::map<int, std::vector<Truth>> known_;
  std::vector<Combinations> combinations_;  // by leaf
  std::vector<Row> rows_;
};

// Of the forms of those values that vary.
std::string KeyOf(const std::vector<Form>& forms, const std::vector<bool>& varies, bool constants);

}  // namespace temper::importer
