// The nodes behind a value of several shapes: those that depend on its shape are added once for
// each, in the leaves of a switch, up to where shapes are the same again.
//
//   y = If(c) {[2,3]}{[4,3]}; z = Relu(y); s = ReduceSum(z); t = Exp(s)
//   ->  y, id = If(c) ..;  s = If(id < 1) {ReduceSum(Relu([2,3] of y))} {ReduceSum(Relu([4,3] of
//   y))}
//       t = Exp(s)
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "compiler/import/graph_builder.h"
#include "compiler/import/merge.h"
#include "compiler/import/switch_tree.h"

namespace temper::importer {

class Segment {
 public:
  // All must outlive the segment. `outputs`: names that are read behind the nodes; `live`: those
  // and what the nodes read.
  Segment(GraphBuilder& builder, const NodeList& nodes, const std::vector<std::string>& outputs,
          const std::unordered_set<std::string>& live, Scope& scope)
      : builder_(builder), nodes_(nodes), outputs_(outputs), live_(live), scope_(scope) {}

  // `order`: the nodes that are not added yet, in order; the first reads what varies. Returns those
  // that it left.
  Result<std::vector<int>> Run(const std::vector<int>& order);

 private:
  enum class State {
    kVaries,    // in the leaves, and not the same in all
    kJoined,    // in the leaves, and the same
    kDeferred,  // of a node that waits
    kBlocked,   // of a node that has to wait
  };
  struct Read {
    bool varies = false, inside = false, blocked = false;
    std::vector<int> waiting;  // nodes
  };

  Status Begin(const onnx::NodeProto& first);
  // What the leaf knows of conditions. False if it cannot come.
  bool SetTruths(int leaf);
  Read Classify(const onnx::NodeProto& node);
  // Adds the node, and those that it waits for, to the leaves; or defers it where one of these
  // closes the segment.
  Status Include(int n);
  Status AddToLeaves(int n);
  State StateOf(const std::string& output);
  void Defer(int n, State state);
  Status Close(const std::vector<int>& left);
  std::string NameOf(int n) const { return scope_.prefix + NodeName(nodes_.Get(n), n); }

  GraphBuilder& builder_;
  const NodeList& nodes_;
  const std::vector<std::string>& outputs_;
  const std::unordered_set<std::string>& live_;
  Scope& scope_;
  Region* around_ = nullptr;
  std::string source_, what_;
  std::string read_;  // for errors
  Combinations combinations_;
  std::unique_ptr<SwitchTree> tree_;
  std::map<int, std::vector<Truth>> truths_;  // by condition, then by leaf
  std::vector<Scope> leaves_;
  std::unordered_map<std::string, State> states_;
  std::unordered_map<std::string, int> producers_;  // of names that are deferred
  std::unordered_set<int> waiting_;
  std::vector<std::string> made_;  // in the leaves, in order
  bool closed_ = false;            // a leaf divides further
};

// Makes what the model gives out of several shapes outputs of open extents.
Status GiveOut(GraphBuilder& builder, const std::vector<std::string>& outputs, Scope& scope);

}  // namespace temper::importer
