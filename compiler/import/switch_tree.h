// The nested graphs of an If, or of a tree of them that chooses among many by a number:
//
//   id = 0..3    ->    If(id < 2) {If(id < 1) {leaf 0}{leaf 1}} {If(id < 3) {leaf 2}{leaf 3}}
//
// While the tree is there nodes are added to its leaves, and to the graph around it, in any order.
// Close adds the Ifs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"

namespace temper::importer {

class SwitchTree {
 public:
  // Leaf i for id = i, 0 <= i < leaves; 2 or more. `source` is the node of the model that the Ifs
  // are of. Values are of the builder's graph, which the Ifs will be in.
  static SwitchTree ById(GraphBuilder& builder, int id, int leaves, const std::string& source);
  // Leaf 0 where the condition holds, else leaf 1.
  static SwitchTree ByCondition(GraphBuilder& builder, int condition, const std::string& source,
                                const std::string& then_name, const std::string& else_name);

  int size() const { return static_cast<int>(leaves_.size()); }
  Region& leaf(int i) { return *leaves_[static_cast<size_t>(i)].region; }
  // The leaf ends the run with the message.
  void End(int i, std::string message) {
    leaves_[static_cast<size_t>(i)].error = std::move(message);
  }
  const std::string& error(int i) const { return leaves_[static_cast<size_t>(i)].error; }

  struct Output {
    std::string name;
    int64_t room = -1;        // graph::kRoom
    std::vector<int> values;  // one a leaf, of its graph; not looked at where the leaf ends the run
  };
  // The values of the outputs around the tree. REQUIRES: some leaf does not end the run.
  Result<std::vector<int>> Close(const std::vector<Output>& outputs);

 private:
  struct Leaf {
    Region* region = nullptr;
    std::string error;
  };
  // An inner graph of the tree, or a leaf.
  struct Branch {
    std::shared_ptr<graph::Graph> graph;
    Region region;
    int leaf = -1;
    int condition = graph::kNone;  // of `graph`
    std::unique_ptr<Branch> yes, no;
  };

  SwitchTree(GraphBuilder& builder, const std::string& source)
      : builder_(&builder), source_(source), around_(builder.region()) {}
  std::unique_ptr<Branch> NewBranch(Region* outer, const std::string& name);
  std::unique_ptr<Branch> Divide(Region* outer, int id, int begin, int end);
  static Result<int> Below(graph::Graph& graph, int id, int64_t limit, const std::string& source);
  // The message if no leaf of it goes on.
  const std::string* Error(const Branch& branch) const;
  // Adds the If of both to `region`, and returns the results.
  Result<std::vector<int>> CloseBoth(Region& region, int condition, Branch& yes, Branch& no,
                                     const std::vector<Output>& outputs);
  // Gives the branch its outputs.
  Status CloseOne(Branch& branch, const std::vector<Output>& outputs);

  GraphBuilder* builder_;
  std::string source_;
  Region* around_;
  int condition_ = graph::kNone;
  int id_ = graph::kNone;  // else by condition
  int middle_ = 0;
  std::unique_ptr<Branch> yes_, no_;
  std::vector<Leaf> leaves_;
};

}  // namespace temper::importer
